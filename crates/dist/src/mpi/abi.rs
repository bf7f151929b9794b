//! The three binary interfaces of MPI. What they call things differs; see the headers of each library, with which a test
//! compares these tables.

/// A binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abi {
    /// Open MPI's own, `libmpi.so.40`: handles are addresses of data in the library.
    OpenMpi,
    /// That of MPICH, Intel MPI, MVAPICH and Cray MPI, `libmpi.so.12`: handles are integers.
    Mpich,
    /// That of the standard MPI 5, `libmpi_abi.so`: handles are small numbers as wide as addresses.
    Standard,
}

/// What is asked of a library by number. For Open MPI the handles are looked up by [`SYMBOLS`].
pub(crate) struct Numbers {
    pub comm_world: usize,
    pub errors_return: usize,
    pub byte: usize,
    pub float: usize,
    pub double: usize,
    pub int32: usize,
    pub int64: usize,
    pub sum: usize,
    pub max: usize,
    pub min: usize,
    pub status_ignore: usize,
    pub thread_serialized: i32,
    pub any_source: i32,
}

/// By which names Open MPI has its handles, in the order of the fields of [`Numbers`].
pub(crate) const SYMBOLS: [&str; 10] = [
    "ompi_mpi_comm_world",
    "ompi_mpi_errors_return",
    "ompi_mpi_byte",
    "ompi_mpi_float",
    "ompi_mpi_double",
    "ompi_mpi_int32_t",
    "ompi_mpi_int64_t",
    "ompi_mpi_op_sum",
    "ompi_mpi_op_max",
    "ompi_mpi_op_min",
];

/// MPICH's numbers.
pub(crate) const MPICH: Numbers = Numbers {
    comm_world: 0x4400_0000,
    errors_return: 0x5400_0001,
    byte: 0x4c00_010d,
    float: 0x4c00_040a,
    double: 0x4c00_080b,
    int32: 0x4c00_0439,
    int64: 0x4c00_083a,
    sum: 0x5800_0003,
    max: 0x5800_0001,
    min: 0x5800_0002,
    status_ignore: 1,
    thread_serialized: 2,
    any_source: -2,
};

/// Those of the standard.
pub(crate) const STANDARD: Numbers = Numbers {
    comm_world: 0x101,
    errors_return: 0x143,
    byte: 0x247,
    float: 0x210,
    double: 0x214,
    int32: 0x250,
    int64: 0x258,
    sum: 0x21,
    max: 0x23,
    min: 0x22,
    status_ignore: 0,
    thread_serialized: 2048,
    any_source: -1,
};

impl Numbers {
    /// Those of Open MPI, whose handles are these, in the order of [`SYMBOLS`].
    pub fn open_mpi(handles: [usize; 10]) -> Numbers {
        let [comm_world, errors_return, byte, float, double, int32, int64, sum, max, min] = handles;
        Numbers {
            comm_world,
            errors_return,
            byte,
            float,
            double,
            int32,
            int64,
            sum,
            max,
            min,
            status_ignore: 0,
            thread_serialized: 2,
            any_source: -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text behind a `#define` or an entry of an enum, without brackets, signs and casts.
    fn defined(header: &str, name: &str) -> Option<usize> {
        let line = header.lines().find_map(|line| {
            let mut words = line.trim().trim_start_matches("#define").split_whitespace();
            (words.next()? == name).then(|| line.to_string())
        })?;
        let value = line.split_once(name)?.1.split("/*").next()?.replace('=', " ");
        let number = value.split([')', ' ', ',', '(', '-']).rfind(|word| {
            word.starts_with("0x") || word.chars().all(|c| c.is_ascii_digit()) && !word.is_empty()
        })?;
        match number.strip_prefix("0x") {
            Some(hex) => usize::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        }
    }

    fn check(header: &str, numbers: &Numbers) {
        assert!(numbers.any_source < 0, "it is not a rank");
        let expected = [
            ("MPI_COMM_WORLD", numbers.comm_world),
            ("MPI_ERRORS_RETURN", numbers.errors_return),
            ("MPI_BYTE", numbers.byte),
            ("MPI_FLOAT", numbers.float),
            ("MPI_DOUBLE", numbers.double),
            ("MPI_INT32_T", numbers.int32),
            ("MPI_INT64_T", numbers.int64),
            ("MPI_SUM", numbers.sum),
            ("MPI_MAX", numbers.max),
            ("MPI_MIN", numbers.min),
            ("MPI_STATUS_IGNORE", numbers.status_ignore),
            ("MPI_THREAD_SERIALIZED", numbers.thread_serialized as usize),
            ("MPI_ANY_SOURCE", numbers.any_source.unsigned_abs() as usize),
        ];
        for (name, number) in expected {
            assert_eq!(defined(header, name), Some(number), "{name}");
        }
    }

    /// `FLUVIAL_MPI_HEADERS` names folders with `mpi.h`, and perhaps `mpi_abi.h`; without it there is nothing to compare.
    #[test]
    fn the_tables_are_those_of_the_headers() {
        let Ok(folders) = std::env::var("FLUVIAL_MPI_HEADERS") else {
            eprintln!("skipped: FLUVIAL_MPI_HEADERS names no folder with headers of MPI");
            return;
        };
        let mut seen = 0;
        for folder in std::env::split_paths(&folders) {
            let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
            if let Some(header) = read("mpi_abi.h") {
                check(&header, &STANDARD);
                seen += 1;
            }
            let Some(header) = read("mpi.h") else { continue };
            seen += 1;
            match header.contains("OMPI_MAJOR_VERSION") {
                false => check(&header, &MPICH),
                true => {
                    for symbol in SYMBOLS {
                        assert!(header.contains(&format!("{symbol};")), "{symbol}");
                    }
                    assert_eq!(defined(&header, "MPI_IN_PLACE"), Some(1));
                    assert_eq!(defined(&header, "MPI_ANY_SOURCE"), Some(1));
                    let levels = header.split_once("MPI_THREAD_SINGLE").map(|(_, rest)| rest);
                    let names: Vec<&str> =
                        levels.unwrap_or("").split(',').map(str::trim).take(3).collect();
                    assert_eq!(names, ["", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"]);
                }
            }
        }
        assert!(seen > 0, "no header of MPI in {folders}");
    }
}
