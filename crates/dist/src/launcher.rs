//! What started this process, as the environment says.

/// A launcher of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// `mpirun` of MPICH and its relatives (Hydra), or whatever speaks PMI.
    Hydra,
    /// Slurm's `srun`.
    Slurm,
}

impl Launcher {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "Open MPI's mpirun",
            Launcher::Hydra => "the mpirun of MPICH",
            Launcher::Slurm => "srun",
        }
    }
}

/// What has started this process as one of several ranks, and how many it says there are.
pub fn launched() -> Option<(Launcher, usize)> {
    from(&|name| std::env::var(name).ok())
}

fn from(variable: &dyn Fn(&str) -> Option<String>) -> Option<(Launcher, usize)> {
    let known = [
        (Launcher::OpenMpi, "OMPI_COMM_WORLD_SIZE"),
        (Launcher::Hydra, "PMI_SIZE"),
        (Launcher::Slurm, "SLURM_STEP_NUM_TASKS"),
    ];
    known.into_iter().find_map(|(launcher, name)| Some((launcher, variable(name)?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<(Launcher, usize)>) {
        let find = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_string())
        };
        assert_eq!(from(&find), expected);
    }

    #[test]
    fn the_innermost_launcher_counts() {
        check(&[], None);
        check(&[("PMI_SIZE", "3")], Some((Launcher::Hydra, 3)));
        check(
            &[("SLURM_STEP_NUM_TASKS", "1"), ("OMPI_COMM_WORLD_SIZE", "4")],
            Some((Launcher::OpenMpi, 4)),
        );
        check(&[("PMI_SIZE", "many")], None);
    }
}
