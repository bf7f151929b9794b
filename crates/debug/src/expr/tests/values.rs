use expect_test::{Expect, expect};
use fluvial_core::Value;

use super::names;
use crate::expr::{Statement, Template, parse};
use crate::target::Evaluated;

fn shown(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => format!("{tensor:?}"),
        Value::List(list) => format!("{list:?}"),
        Value::Channel(channel) => format!("{channel:?}"),
        Value::Device(there) => format!("{there:?}"),
    }
}

fn answer(text: &str) -> String {
    match parse(text).and_then(|expr| expr.answer(&names())) {
        Ok(Evaluated::Value(value)) => shown(&value),
        Ok(Evaluated::Text(text)) => format!("text {text}"),
        Err(error) => format!("error: {error}"),
    }
}

/// Each line is an expression; behind it stands its value.
fn check(expressions: &str, expected: Expect) {
    let lines = expressions.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: String = lines.map(|line| format!("{line}  ->  {}\n", answer(line))).collect();
    expected.assert_eq(&lines);
}

#[test]
fn numbers() {
    check(
        "1 + 2 * 3
         (1 + 2) * 3
         7 // 2
         -7 // 2
         7 % 4
         -7 % 4
         1 / 4
         2 ** 10
         2 ** -1
         -2 ** 2
         2 ** 3 ** 2
         9223372036854775807 + 1
         1e3
         1_000
         .5
         5.
         99999999999999999999
         1 < 2 < 3
         1 < 3 < 2
         not 0 and 1
         0 or 0.0
         true
         ~5
         sqrt(2)
         abs(-3)
         round(2.5)
         pi > 3
         1 // 0
         1 % 0",
        expect![[r#"
            1 + 2 * 3  ->  i64[] 7
            (1 + 2) * 3  ->  i64[] 9
            7 // 2  ->  i64[] 3
            -7 // 2  ->  i64[] -4
            7 % 4  ->  i64[] 3
            -7 % 4  ->  i64[] 1
            1 / 4  ->  f64[] 0.25
            2 ** 10  ->  i64[] 1024
            2 ** -1  ->  f64[] 0.5
            -2 ** 2  ->  i64[] -4
            2 ** 3 ** 2  ->  i64[] 512
            9223372036854775807 + 1  ->  f64[] 9.223372036854776e18
            1e3  ->  f64[] 1000.0
            1_000  ->  i64[] 1000
            .5  ->  f64[] 0.5
            5.  ->  f64[] 5.0
            99999999999999999999  ->  f64[] 1e20
            1 < 2 < 3  ->  bool[] true
            1 < 3 < 2  ->  bool[] false
            not 0 and 1  ->  bool[] true
            0 or 0.0  ->  bool[] false
            true  ->  bool[] true
            ~5  ->  i64[] -6
            sqrt(2)  ->  f64[] 1.4142135623730951
            abs(-3)  ->  i64[] 3
            round(2.5)  ->  f64[] 2.0
            pi > 3  ->  bool[] true
            1 // 0  ->  f64[] inf
            1 % 0  ->  f64[] NaN
        "#]],
    );
}

#[test]
fn names_and_types() {
    check(
        "loss
         loss > 10
         step % 100 == 0
         step / 7
         loss * 2
         loss + sqrt(4)
         step + 0.5
         small * 0.1
         bytes + 1
         bytes > 300
         bytes == 255
         fc1.weight[0]
         fc1.weight.sum()
         fc1.weight.shape
         \"fc1.weight\"[0, 1]
         \"odd name\" + 1
         layers.0.bias
         %h2 + 1
         step %ids
         %7
         xs[0] + xs[-1]
         len(xs)
         h.shape[0]
         h.T.shape
         h.ndim + size(h)
         dtype(h)
         h.dtype == \"f32\"
         \"i64\" != dtype(ids)
         hash(h) == hash(h + 0)
         hash(h) == hash(h * 2)
         grad(fc1.weight)
         fc1.weight.grad.norm()
         norm(grad(\"fc1.weight\")) > 1e3",
        expect![[r#"
            loss  ->  f32[] 0.25
            loss > 10  ->  bool[] false
            step % 100 == 0  ->  bool[] true
            step / 7  ->  f32[] 42.857143
            loss * 2  ->  f32[] 0.5
            loss + sqrt(4)  ->  f32[] 2.25
            step + 0.5  ->  f32[] 300.5
            small * 0.1  ->  bf16[2] [0.100097656, 0.050048828]
            bytes + 1  ->  u8[2] [2, 0]
            bytes > 300  ->  bool[2] [false, false]
            bytes == 255  ->  bool[2] [false, true]
            fc1.weight[0]  ->  f32[2] [1.0, 2.0]
            fc1.weight.sum()  ->  f32[] 21.0
            fc1.weight.shape  ->  i64[2] [3, 2]
            "fc1.weight"[0, 1]  ->  f32[] 2.0
            "odd name" + 1  ->  i64[] 10
            layers.0.bias  ->  f32[1] [7.0]
            %h2 + 1  ->  i64[] 6
            step %ids  ->  i64[2] [0, 0]
            %7  ->  i64[] 70
            xs[0] + xs[-1]  ->  f32[] 2.0
            len(xs)  ->  i64[] 3
            h.shape[0]  ->  i64[] 2
            h.T.shape  ->  i64[2] [3, 2]
            h.ndim + size(h)  ->  i64[] 8
            dtype(h)  ->  text f32
            h.dtype == "f32"  ->  bool[] true
            "i64" != dtype(ids)  ->  bool[] false
            hash(h) == hash(h + 0)  ->  bool[] true
            hash(h) == hash(h * 2)  ->  bool[] false
            grad(fc1.weight)  ->  f32[3, 2] [[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]]
            fc1.weight.grad.norm()  ->  f32[] 5.0
            norm(grad("fc1.weight")) > 1e3  ->  bool[] false
        "#]],
    );
}

#[test]
fn indices() {
    check(
        "h[0]
         h[-1, -1]
         h[0, :]
         h[:, 1:]
         h[::-1, ::2]
         h[..., 0]
         h[None].shape
         h[:, -2:100]
         h[ids[1]]
         h[:, ids]
         h[h > 0]
         h[:, mask]
         max(abs(cube[0, :, 3:5]))
         cube[1][2][3]
         cube[-1, ..., -1]
         [1, 2, 3][1]
         h.mean(axis=0)[0]
         (h + 1)[0, 0]",
        expect![[r#"
            h[0]  ->  f32[3] [1.0, -2.0, 3.0]
            h[-1, -1]  ->  f32[] -6.0
            h[0, :]  ->  f32[3] [1.0, -2.0, 3.0]
            h[:, 1:]  ->  f32[2, 2] [[-2.0, 3.0], [5.0, -6.0]]
            h[::-1, ::2]  ->  f32[2, 2] [[-4.0, -6.0], [1.0, 3.0]]
            h[..., 0]  ->  f32[2] [1.0, -4.0]
            h[None].shape  ->  i64[3] [1, 2, 3]
            h[:, -2:100]  ->  f32[2, 2] [[-2.0, 3.0], [5.0, -6.0]]
            h[ids[1]]  ->  f32[3] [1.0, -2.0, 3.0]
            h[:, ids]  ->  f32[2, 2] [[3.0, 1.0], [-6.0, -4.0]]
            h[h > 0]  ->  f32[3] [1.0, 3.0, 5.0]
            h[:, mask]  ->  f32[2, 2] [[1.0, 3.0], [-4.0, -6.0]]
            max(abs(cube[0, :, 3:5]))  ->  f64[] 11.0
            cube[1][2][3]  ->  f64[] 23.0
            cube[-1, ..., -1]  ->  f64[3] [15.0, 19.0, 23.0]
            [1, 2, 3][1]  ->  i64[] 2
            h.mean(axis=0)[0]  ->  f32[] -1.5
            (h + 1)[0, 0]  ->  f32[] 2.0
        "#]],
    );
}

#[test]
fn functions() {
    check(
        "h.mean()
         mean(h, 0)
         h.sum(axis=1, keepdims=true)
         sum(cube, (0, 2))
         h.std()
         var(h, correction=1)
         norm(h)
         norm(h, 1)
         norm(h, inf)
         isnan(bad)
         any(isnan(bad))
         isinf(bad).sum()
         all(isfinite(h))
         not any(h < 0) and step >= 3
         argmax(h)
         argmin(h, axis=1)
         argsort(h, descending=true)
         sort(h)
         topk(h, 2)
         unique(sign(h))
         cumsum(h, 0)
         softmax([0, 0])
         histogram(cube, bins=4)
         histogram(h, 2, 0, 10)
         quantile(cube, 0.5)
         median(cube)
         reshape(h, [3, -1])
         reshape(h, 3, 2)
         h.transpose()
         transpose(cube, 0, 2).shape
         permute(cube, [2, 0, 1]).shape
         flatten(cube).shape
         unsqueeze(ids, 0)
         squeeze(layers.0.bias, 0)
         clip(h, -1, 1)
         clip(h, low=0)
         where(h > 0, h, 0)
         maximum(h, 0)
         minimum(1, 2)
         h @ fc1.weight
         matmul(fc1.weight, h)
         f64(h[0])
         cast(h[0, 0], \"i32\")
         i64(2.7)
         mask & ~mask
         mask | (bad > 0)
         [1, 2] + ids
         [1.5, 2] * small
         [loss, 1]
         exp(loss)
         relu(h)
         0 < h <= 3",
        expect![[r#"
            h.mean()  ->  f32[] -0.5
            mean(h, 0)  ->  f32[3] [-1.5, 1.5, -1.5]
            h.sum(axis=1, keepdims=true)  ->  f32[2, 1] [[2.0], [-5.0]]
            sum(cube, (0, 2))  ->  f64[3] [60.0, 92.0, 124.0]
            h.std()  ->  f32[] 3.86221
            var(h, correction=1)  ->  f32[] 17.9
            norm(h)  ->  f32[] 9.539392
            norm(h, 1)  ->  f32[] 21.0
            norm(h, inf)  ->  f32[] 6.0
            isnan(bad)  ->  bool[3] [false, true, false]
            any(isnan(bad))  ->  bool[] true
            isinf(bad).sum()  ->  i64[] 1
            all(isfinite(h))  ->  bool[] true
            not any(h < 0) and step >= 3  ->  bool[] false
            argmax(h)  ->  i64[] 4
            argmin(h, axis=1)  ->  i64[2] [1, 2]
            argsort(h, descending=true)  ->  i64[2, 3] [[2, 0, 1], [1, 0, 2]]
            sort(h)  ->  f32[2, 3] [[-2.0, 1.0, 3.0], [-6.0, -4.0, 5.0]]
            topk(h, 2)  ->  f32[2, 2] [[3.0, 1.0], [5.0, -4.0]]
            unique(sign(h))  ->  f32[2] [-1.0, 1.0]
            cumsum(h, 0)  ->  f32[2, 3] [[1.0, -2.0, 3.0], [-3.0, 3.0, -3.0]]
            softmax([0, 0])  ->  error: softmax(i64[2]): only floats are normalised
                softmax([0, 0])
                ^
              remedy: cast to a float type first
            histogram(cube, bins=4)  ->  i64[4] [6, 6, 6, 6]
            histogram(h, 2, 0, 10)  ->  i64[2] [2, 1]
            quantile(cube, 0.5)  ->  f64[] 11.5
            median(cube)  ->  f64[] 11.5
            reshape(h, [3, -1])  ->  f32[3, 2] [[1.0, -2.0], [3.0, -4.0], [5.0, -6.0]]
            reshape(h, 3, 2)  ->  f32[3, 2] [[1.0, -2.0], [3.0, -4.0], [5.0, -6.0]]
            h.transpose()  ->  f32[3, 2] [[1.0, -4.0], [-2.0, 5.0], [3.0, -6.0]]
            transpose(cube, 0, 2).shape  ->  i64[3] [4, 3, 2]
            permute(cube, [2, 0, 1]).shape  ->  i64[3] [4, 2, 3]
            flatten(cube).shape  ->  i64[1] [24]
            unsqueeze(ids, 0)  ->  i64[1, 2] [[2, 0]]
            squeeze(layers.0.bias, 0)  ->  f32[] 7.0
            clip(h, -1, 1)  ->  f32[2, 3] [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]
            clip(h, low=0)  ->  f32[2, 3] [[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
            where(h > 0, h, 0)  ->  f32[2, 3] [[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
            maximum(h, 0)  ->  f32[2, 3] [[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
            minimum(1, 2)  ->  i64[] 1
            h @ fc1.weight  ->  f32[2, 2] [[10.0, 12.0], [-19.0, -24.0]]
            matmul(fc1.weight, h)  ->  f32[3, 3] [[-7.0, 8.0, -9.0], [-13.0, 14.0, -15.0], [-19.0, 20.0, -21.0]]
            f64(h[0])  ->  f64[3] [1.0, -2.0, 3.0]
            cast(h[0, 0], "i32")  ->  i32[] 1
            i64(2.7)  ->  i64[] 2
            mask & ~mask  ->  bool[3] [false, false, false]
            mask | (bad > 0)  ->  bool[3] [true, false, true]
            [1, 2] + ids  ->  i64[2] [3, 2]
            [1.5, 2] * small  ->  bf16[2] [1.5, 1.0]
            [loss, 1]  ->  f32[2] [0.25, 1.0]
            exp(loss)  ->  f32[] 1.2840254
            relu(h)  ->  f32[2, 3] [[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
            0 < h <= 3  ->  bool[2, 3] [[true, false, true], [false, false, false]]
        "#]],
    );
}

#[test]
fn conditions() {
    let names = names();
    for (text, expected) in [
        ("loss < 10", true),
        ("isnan(bad)", true),
        ("isnan(h)", false),
        ("isinf(bad)", true),
        ("isfinite(h)", true),
        ("isfinite(bad)", false),
        ("not isnan(h) and not isinf(h)", true),
        ("layers.0.bias", true),
        ("loss - 0.25", false),
        ("nan", true),
        ("\"odd name\" == 9", true),
        ("false or step", true),
    ] {
        assert_eq!(parse(text).unwrap().truth(&names).unwrap(), expected, "{text}");
    }
}

#[test]
fn edits() {
    let names = names();
    let edited = |text: &str| {
        let statement = Statement::parse(text)?;
        let Statement::Assign { name, .. } = &statement else { return Ok("no edit".to_string()) };
        statement.edited(&names).map(|value| format!("{name} = {}", shown(&value)))
    };
    let lines = [
        "loss = 3",
        "h[0, 1] = 7",
        "h[:, 0] = [8, 9]",
        "h = 0",
        "h *= 2",
        "h[1] -= 1",
        "h[h < 0] = 0",
        "fc1.weight = transpose(fc1.weight).reshape(3, 2)",
        "\"odd name\" = step",
        "%h2 = 6",
        "step = 2.0",
        "step = 2.5",
        "mask[0] = false",
        "h = [1, 2]",
        "h[5] = 1",
        "nothing = 1",
        "xs = 1",
        "h + 1 = 2",
        "h == 1",
        "abs(h) = 1",
        "h = ",
        "h = 1 = 2",
    ];
    let lines: String = lines
        .map(|line| match edited(line) {
            Ok(text) => format!("{line}  ->  {text}\n"),
            Err(error) => format!("{line}  ->  error: {error}\n"),
        })
        .concat();
    expect![[r#"
        loss = 3  ->  loss = f32[] 3.0
        h[0, 1] = 7  ->  h = f32[2, 3] [[1.0, 7.0, 3.0], [-4.0, 5.0, -6.0]]
        h[:, 0] = [8, 9]  ->  h = f32[2, 3] [[8.0, -2.0, 3.0], [9.0, 5.0, -6.0]]
        h = 0  ->  h = f32[2, 3] [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        h *= 2  ->  h = f32[2, 3] [[2.0, -4.0, 6.0], [-8.0, 10.0, -12.0]]
        h[1] -= 1  ->  h = f32[2, 3] [[1.0, -2.0, 3.0], [-5.0, 4.0, -7.0]]
        h[h < 0] = 0  ->  h = f32[2, 3] [[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
        fc1.weight = transpose(fc1.weight).reshape(3, 2)  ->  fc1.weight = f32[3, 2] [[1.0, 3.0], [5.0, 2.0], [4.0, 6.0]]
        "odd name" = step  ->  odd name = i64[] 300
        %h2 = 6  ->  %h2 = i64[] 6
        step = 2.0  ->  step = i64[] 2
        step = 2.5  ->  error: i64[] cannot hold what f64[] was given
          remedy: give numbers that it holds; round fractions: `round(x)`
        mask[0] = false  ->  mask = bool[3] [false, false, true]
        h = [1, 2]  ->  error: i64[2] does not broadcast to the sizes [2, 3] of the place
          remedy: its sizes, aligned from the right, must be those of the place or one
        h[5] = 1  ->  error: index 5 is out of range for axis 0 of size 2
        nothing = 1  ->  error: there is no value `nothing` to set here
          remedy: there are %h2, 7, bad, bytes, cube, fc1.weight, h, ids, layers.0.bias, loss, mask, odd name and 4 more
        xs = 1  ->  error: lists and channels cannot be set
          remedy: set a tensor
        h + 1 = 2  ->  error: only a name, or a part of it, can be set
            h + 1 = 2
            ^
          remedy: write `name = expression` or `name[i, j] = expression`
        h == 1  ->  no edit
        abs(h) = 1  ->  error: only a name, or a part of it, can be set
            abs(h) = 1
            ^
          remedy: write `name = expression` or `name[i, j] = expression`
        h =   ->  error: expected a value, found the end
            h = 
                ^
          remedy: write a name, a number, a call or something in brackets
        h = 1 = 2  ->  error: did not expect `=` here
            h = 1 = 2
                  ^
          remedy: compare by `==`
    "#]].assert_eq(&lines);
    assert_eq!(answer("h"), "f32[2, 3] [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]");
}

#[test]
fn templates() {
    let names = names();
    let lines = [
        "loss {loss} at {step}",
        "{loss:.3f}|{loss:8.2e}|{step:6d}|{1/3:.4g}|{loss:g}",
        "{{not}} {h[0, 1:]} {dtype(h)}",
        "{los}, {h:.2f}",
        "{\"odd name\"}",
        "plain",
        "",
        "{h[0:1, 0:1]:.1f}",
    ];
    let lines = lines.map(|line| match Template::parse(line) {
        Ok(template) => format!("{line}  ->  {}\n", template.render(&names)),
        Err(error) => format!("{line}  ->  error: {error}\n"),
    });
    expect![[r#"
        loss {loss} at {step}  ->  loss 0.25 at 300
        {loss:.3f}|{loss:8.2e}|{step:6d}|{1/3:.4g}|{loss:g}  ->  0.250| 2.50e-1|   300|0.3333|0.25
        {{not}} {h[0, 1:]} {dtype(h)}  ->  {not} f32[2] mean=0.5 sd=2.5 min=-2 max=3 nan=0 inf=0 #15d0 f32
        {los}, {h:.2f}  ->  <there is no value `los` here>, <f32[2, 3] is not one number>
        {"odd name"}  ->  9
        plain  ->  plain
          ->  
        {h[0:1, 0:1]:.1f}  ->  1.0
    "#]].assert_eq(&lines.concat());
    for text in ["{", "}", "a {loss", "{loss}}", "{}", "{loss:.3q}", "{loss:.}", "{1 +}"] {
        let error = Template::parse(text).unwrap_err();
        assert!(error.remedy_text().is_some(), "{text}: {error}");
    }
}

#[test]
fn names_of_an_expression() {
    let names = parse("max(fc1.weight) + h[i].mean() > \"odd name\" and grad(w)").unwrap().names();
    assert_eq!(names, ["fc1.weight", "h", "i", "odd name", "w"]);
}
