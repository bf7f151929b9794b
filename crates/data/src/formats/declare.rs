//! What a caller declares about the fields, against what the files have.

use super::columns::Table;
use super::settings::Declared;
use super::{Input, Rows};
use crate::Field;
use fluvial_tensor::{Dim, Error, Result, Type};

/// Files of samples one after another, with the declared fields.
pub(crate) fn table(parts: Vec<Box<dyn Rows>>, declared: &Declared) -> Result<Table> {
    let Some(first) = parts.first() else {
        return Err(Error::argument("no file was given").remedy("give at least one path"));
    };
    let mut inner = first.fields().to_vec();
    for part in &parts[1..] {
        merge(&mut inner, part.as_ref(), parts[0].name())?;
    }
    let name = parts[0].name();
    check_count(name, "shape", declared.shapes.as_ref().map(Vec::len), &inner)?;
    check_count(name, "dtype", declared.dtypes.as_ref().map(Vec::len), &inner)?;
    check_count(name, "names", declared.names.as_ref().map(Vec::len), &inner)?;
    let mut fields = Vec::new();
    for (i, field) in inner.iter_mut().enumerate() {
        if let Some(dtypes) = &declared.dtypes
            && dtypes[i] != field.ty.dtype()
        {
            return Err(wrong(name, i, field, &format!("{} elements", dtypes[i]))
                .remedy(format!("declare {}, and cast the batches", field.ty.dtype())));
        }
        let mut outer = field.clone();
        if let Some(shapes) = &declared.shapes {
            (field.ty, outer.ty) = narrow(field.ty, &shapes[i]).ok_or_else(|| {
                let shape: Vec<String> = shapes[i].iter().map(Dim::to_string).collect();
                wrong(name, i, field, &format!("the sizes [{}]", shape.join(", ")))
            })?;
        }
        if let Some(names) = &declared.names {
            outer.name = names[i].clone();
        }
        fields.push(outer);
    }
    Table::new(parts, inner, fields)
}

/// The type with the declared sizes, as the file has it and as the caller sees it.
fn narrow(ty: Type, shape: &[Dim]) -> Option<(Type, Type)> {
    if ty.rank() != shape.len() {
        let declared = ty.with_dims(shape).ok()?;
        return (declared.numel()? == ty.numel()?).then_some((ty, declared));
    }
    let mut dims = Vec::new();
    for (&has, &wants) in ty.dims().iter().zip(shape) {
        dims.push(match (has.value(), wants.value()) {
            (Some(a), Some(b)) if a != b => {
                let declared = ty.with_dims(shape).ok()?;
                return (declared.numel()? == ty.numel()?).then_some((ty, declared));
            }
            (Some(_), _) => has,
            (None, _) => wants,
        });
    }
    let ty = ty.with_dims(&dims).ok()?;
    Some((ty, ty))
}

/// Takes in the fields of a further file. Sizes that differ from file to file vary.
fn merge(fields: &mut [Field], part: &dyn Rows, first: &str) -> Result<()> {
    let others = part.fields();
    let agree =
        |(a, b): (&Field, &Field)| a.ty.dtype() == b.ty.dtype() && a.ty.rank() == b.ty.rank();
    if fields.len() != others.len() || !fields.iter().zip(others).all(agree) {
        let list = |fields: &[Field]| {
            let all: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, field.ty)).collect();
            all.join(", ")
        };
        return Err(Error::argument(format!(
            "`{}` has other fields ({}) than `{first}` ({})",
            part.name(),
            list(others),
            list(fields)
        ))
        .remedy("give files that have the same fields"));
    }
    for (i, (field, other)) in fields.iter_mut().zip(others).enumerate() {
        let mut dims = field.ty.dims().to_vec();
        for (axis, (dim, &theirs)) in dims.iter_mut().zip(other.ty.dims()).enumerate() {
            if *dim != theirs && !dim.is_symbolic() {
                *dim = Dim::symbol(&format!("size{i}_{axis}"))?;
            }
        }
        field.ty = field.ty.with_dims(&dims)?;
    }
    Ok(())
}

fn check_count(name: &str, what: &str, count: Option<usize>, fields: &[Field]) -> Result<()> {
    match count {
        Some(count) if count != fields.len() => Err(Error::argument(format!(
            "`{name}` has {} fields, but `{what}` declares {count}",
            fields.len()
        ))),
        _ => Ok(()),
    }
}

fn wrong(name: &str, i: usize, field: &Field, declared: &str) -> Error {
    Error::argument(format!(
        "field {i} of `{name}`, `{}`, is {}, but {declared} are declared",
        field.name, field.ty
    ))
}

/// The name without folders and ending, for a field.
pub(crate) fn stem(input: &Input) -> &str {
    let path = std::path::Path::new(input.name());
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("data")
}
