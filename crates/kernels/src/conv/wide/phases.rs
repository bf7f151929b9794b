//! The way back through a stride: pixels at the same place within the stride are reached by the same
//! elements of the kernel, so they are a convolution of their own, of stride 1.

use fluvial_tensor::Result;

use super::direct::direct;
use super::{Filter, Job};
use crate::conv::choose::{Phase, Planes};
use crate::conv::parallel::{Shared, buffer, run, share};

/// The number of tasks to aim at where pixels are put in place.
const ENOUGH_TASKS: usize = 8;

/// The adjoint of a convolution as a function of its input, for the phases of its two axes.
pub(in crate::conv) fn phases(
    on: &Planes,
    phases: [&[Phase]; 2],
    y: &[f32],
    weight: &[f32],
    out: &mut [f32],
) -> Result<()> {
    for rows in phases[0] {
        for columns in phases[1] {
            let pixels = rows.count * columns.count;
            let taps = rows.taps * columns.taps;
            if pixels == 0 {
                continue;
            }
            let mut part = buffer::<f32>(on.batch * on.groups * on.into * pixels)?;
            let part = part.as_mut_slice::<f32>()?;
            if taps == 0 {
                part.fill(0.0);
            } else {
                let mut kernel = buffer::<f32>(on.groups * on.out * on.into * taps)?;
                let kernel = kernel.as_mut_slice::<f32>()?;
                pick(on, weight, rows, columns, kernel);
                direct(&job(on, rows, columns), y, kernel, part)?;
            }
            place(on, part, rows, columns, out)?;
        }
    }
    Ok(())
}

/// The convolution of a phase.
fn job(on: &Planes, rows: &Phase, columns: &Phase) -> Job {
    let taps = rows.taps * columns.taps;
    Job {
        batch: on.batch,
        groups: on.groups,
        into: on.out,
        out: on.into,
        size: on.count,
        count: [rows.count, columns.count],
        kernel: [rows.taps, columns.taps],
        stride: 1,
        dilation: [1, 1],
        before: [rows.before, columns.before],
        filter: Filter {
            origin: taps - 1,
            group_step: on.out * on.into * taps,
            out_step: taps,
            into_step: on.into * taps,
            tap_step: -1,
        },
    }
}

/// Copies the elements of the kernels that reach a phase.
fn pick(on: &Planes, weight: &[f32], rows: &Phase, columns: &Phase, to: &mut [f32]) {
    let [height, width] = on.kernel;
    let taps = rows.taps * columns.taps;
    let kernels = to.chunks_exact_mut(taps).zip(weight.chunks_exact(height * width));
    for (to, from) in kernels {
        for (row, to) in to.chunks_exact_mut(columns.taps).enumerate() {
            let line = &from[(rows.tap + row * on.stride[0]) * width..][..width];
            let picked = line[columns.tap..].iter().step_by(on.stride[1]);
            to.iter_mut().zip(picked).for_each(|(to, &from)| *to = from);
        }
    }
}

/// Puts the pixels of a phase where they belong.
fn place(on: &Planes, part: &[f32], rows: &Phase, columns: &Phase, out: &mut [f32]) -> Result<()> {
    let [height, width] = on.size;
    let planes = on.batch * on.groups * on.into;
    let (out, tasks) = (Shared::new(out), planes.min(ENOUGH_TASKS));
    run(tasks, |task| {
        for plane in share(planes, tasks, task, 1) {
            // SAFETY: each task has its own planes.
            let to = unsafe { out.part(plane * height * width, height * width) };
            let lines = part[plane * rows.count * columns.count..].chunks_exact(columns.count);
            for (line, from) in lines.take(rows.count).enumerate() {
                let start = (rows.first + line * on.stride[0]) * width + columns.first;
                let to = to[start..].iter_mut().step_by(on.stride[1]);
                to.zip(from).for_each(|(to, &from)| *to = from);
            }
        }
        Ok(())
    })
}
