//! What runs on the device: lines that become a kernel, and how the threads of it share their work.
//!
//! In C the lines stand where they are. In CUDA C++ they are a function of their own, which is started where they would
//! stand; it names what holds elements as the lines do.

use fluvial_core::{Result, Whole};

use crate::Language;
use crate::block::Emit;
use crate::loops::{Nest, Trips};
use crate::sizes::in_c;

/// A function that runs on the device.
pub struct DeviceKernel {
    pub name: String,
    /// The line of the user and the op.
    pub about: String,
    pub body: String,
}

/// How many threads run the lines of a kernel.
pub enum Threads {
    One,
    /// As many as there is work, an expression.
    Many(String),
    /// So many that each can have memory of its own.
    Few,
    /// One block, whose threads wait for one another.
    Block,
    /// A block for each, an expression.
    Blocks(String),
}

/// How many threads have memory of their own.
pub const FEW: usize = 64;

impl Emit<'_> {
    /// Whether what is written now is started from here, but runs elsewhere.
    pub fn is_host_of_device(&self) -> bool {
        self.options.language == Language::Cuda && !self.in_kernel
    }

    /// Whether what is written now is run by several threads.
    pub fn is_in_kernel(&self) -> bool {
        self.in_kernel
    }

    /// Writes lines that run on the device, and what starts them.
    pub fn kernel_of(
        &mut self,
        threads: Threads,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !self.is_host_of_device() {
            return write(self);
        }
        let to = std::mem::replace(&mut self.to, crate::writer::Writer::within(1));
        self.in_kernel = true;
        let done = write(self);
        self.in_kernel = false;
        let body = std::mem::replace(&mut self.to, to).into_text();
        done?;
        let name = format!("{}_step_{}", self.options.name, self.kernels.len() + 1);
        let start = match threads {
            Threads::One => format!("FL_START({name}, 1, 1);"),
            Threads::Many(count) => format!("FL_START({name}, fl_blocks({count}), FL_THREADS);"),
            Threads::Few => format!("FL_START({name}, 1, {FEW});"),
            Threads::Block => format!("FL_START_TOGETHER({name}, 1);"),
            Threads::Blocks(count) => format!("FL_START_TOGETHER({name}, fl_blocks_of({count}));"),
        };
        self.to.line(&start);
        self.kernels.push(DeviceKernel { name, about: self.about.clone(), body });
        Ok(())
    }

    /// Writes a loop over all elements of a nest, in any order. `body` is given the variables that count.
    pub fn each(
        &mut self,
        nest: &Nest,
        body: impl FnOnce(&mut Self, &[String]) -> Result<()>,
    ) -> Result<()> {
        let axes: Vec<usize> = (0..nest.dims.len()).collect();
        if !self.is_host_of_device() {
            let counters = nest.open(&mut self.to, &axes, Trips::Apart);
            if axes.is_empty() {
                self.to.open("{");
            }
            body(self, &counters)?;
            self.to.close(axes.len().max(1));
            return Ok(());
        }
        if axes.is_empty() {
            return self.kernel_of(Threads::One, |emit| body(emit, &[]));
        }
        let threads = Threads::Many(nest.count(&axes));
        self.kernel_of(threads, |emit| {
            let counters = nest.spread(&mut emit.to, &axes, "FL_ME", "FL_ALL");
            body(emit, &counters)?;
            emit.to.close(1);
            Ok(())
        })
    }

    /// Copies so many bytes.
    pub fn copy_bytes(&mut self, to: &str, from: &str, bytes: &str) {
        let call = match (self.options.language, self.in_kernel) {
            (Language::C, _) => format!("memcpy({to}, {from}, {bytes});"),
            (Language::Cuda, true) => format!("fl_copy_part({to}, {from}, {bytes});"),
            (Language::Cuda, false) => format!("fl_copy_all(fl, {to}, {from}, {bytes});"),
        };
        self.to.line(&call);
    }

    /// Makes so many bytes zeros.
    pub fn clear_bytes(&mut self, to: &str, bytes: &str) {
        let call = match (self.options.language, self.in_kernel) {
            (Language::C, _) => format!("memset({to}, 0, {bytes});"),
            (Language::Cuda, true) => format!("fl_clear_part({to}, {bytes});"),
            (Language::Cuda, false) => format!("fl_clear_all(fl, {to}, {bytes});"),
        };
        self.to.line(&call);
    }

    /// Writes a line that one thread of a block runs, before and after which all wait.
    pub fn once(&mut self, line: &str) {
        match self.in_kernel {
            true => self.to.line(&format!("FL_ONCE({})", line.trim_end_matches(';'))),
            false => self.to.line(line),
        }
    }

    /// Brings a truth from the device into a variable of this name, which is declared before, or here.
    pub fn ask(&mut self, name: &str, from: &str, declares: bool) {
        let ty = if declares { "uint8_t " } else { "" };
        match self.options.language {
            Language::C => self.to.line(&format!("{ty}{name} = {from}[0];")),
            Language::Cuda => {
                if declares {
                    self.to.line(&format!("uint8_t {name} = 0;"));
                }
                self.to.line(&format!("if (fl_asked(fl, device, {from}, &{name}) != 0) return 1;"));
            }
        }
    }

    /// What ends a run with a message, in C.
    pub fn fails(&self, place: &str, what: &str) -> String {
        match self.options.language {
            Language::C => format!("return fl_fail(arena, \"{place}\", {what});"),
            Language::Cuda => format!("return fl_fail(fl, \"{place}\", {what});"),
        }
    }
}

/// Whether steps lead from different elements to different places; if so along only some axes, these, which are counted
/// from the front.
pub fn apart(dims: &[fluvial_core::Dim], steps: &[Whole]) -> Vec<usize> {
    let known = |axis: usize| match (steps[axis], dims[axis].value()) {
        (Whole::Number(step), Some(size)) => Some((step.unsigned_abs() as usize, size)),
        _ => None,
    };
    let Some(all) = (0..dims.len()).map(known).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(all[axis].0));
    let mut found = Vec::new();
    for (at, &axis) in order.iter().enumerate() {
        // How far the axes with smaller steps lead.
        let span: usize = order[at + 1..]
            .iter()
            .map(|&other| all[other].0 * all[other].1.saturating_sub(1))
            .sum();
        if all[axis].0 <= span {
            break;
        }
        found.push(axis);
    }
    found.sort_unstable();
    found
}

impl Nest {
    /// The number of elements along axes, in C.
    pub fn count(&self, axes: &[usize]) -> String {
        match axes.is_empty() {
            true => "1".into(),
            false => axes.iter().map(|&axis| in_c(self.dims[axis])).collect::<Vec<_>>().join(" * "),
        }
    }

    /// Opens one loop over axes that several run together, and gives the variables that count all axes.
    pub fn spread(
        &self,
        to: &mut crate::writer::Writer,
        axes: &[usize],
        first: &str,
        all: &str,
    ) -> Vec<String> {
        let count = self.count(axes);
        let name = format!("i{}", axes.iter().map(|axis| format!("_{axis}")).collect::<String>());
        to.open(&format!("for (int64_t {name} = {first}; {name} < {count}; {name} += {all}) {{"));
        for (at, &axis) in axes.iter().enumerate() {
            let inner = &axes[at + 1..];
            let mut text = name.clone();
            if axes.iter().any(|&axis| self.dims[axis] == fluvial_core::Dim::size(0)) {
                to.line(&format!("[[maybe_unused]] const int64_t i{axis} = 0;"));
                continue;
            }
            if !inner.is_empty() {
                text.push_str(&format!(" / ({})", self.count(inner)));
            }
            if at > 0 {
                text.push_str(&format!(" % {}", in_c(self.dims[axis])));
            }
            to.line(&format!("[[maybe_unused]] const int64_t i{axis} = {text};"));
        }
        (0..self.dims.len()).map(|axis| format!("i{axis}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use fluvial_core::Dim;

    use super::*;

    #[test]
    fn axes_whose_places_never_meet() {
        let of = |sizes: &[usize], steps: &[i64]| {
            let dims: Vec<Dim> = sizes.iter().map(|&n| Dim::size(n)).collect();
            apart(&dims, &steps.iter().map(|&step| Whole::Number(step)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[2, 3], &[3, 1]), [0, 1]);
        assert_eq!(of(&[2, 4, 3], &[8, 1, 1]), [0]);
        assert_eq!(of(&[4, 3], &[2, -1]), Vec::<usize>::new());
        assert_eq!(of(&[2, 3], &[1, 0]), [0]);
    }
}
