use expect_test::{Expect, expect};

use super::names;
use crate::expr::parse;

/// Each line is an expression; behind it stands its error.
fn check(expressions: &str, expected: Expect) {
    let lines = expressions.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors = lines.map(|line| match parse(line).and_then(|expr| expr.eval(&names())) {
        Ok(value) => format!("{line}: no error but {}\n", value.ty()),
        Err(error) => format!("{error}\n"),
    });
    expected.assert_eq(&errors.collect::<String>());
}

#[test]
fn texts_that_are_no_expressions() {
    check(
        "1 +
         (1 + 2
         h[0
         h[]
         mean(h,, 1)
         mean(axis=0, h)
         1 2
         loss = 3
         loss && step
         !loss
         \"open
         12abc
         # loss
         h.
         loss ? 1
         and",
        expect![[r#"
            expected a value, found the end
                1 +
                   ^
              remedy: write a name, a number, a call or something in brackets
            expected `)`, found the end
                (1 + 2
                      ^
              remedy: close what is open since column 1
            expected `]`, found the end
                h[0
                   ^
              remedy: close what is open since column 2
            there is no index between the brackets
                h[]
                 ^
              remedy: write `x[0]`, `x[1:3]` or `x[:, -1]`
            expected a value, found `,`
                mean(h,, 1)
                       ^
              remedy: write a name, a number, a call or something in brackets
            an argument without a name comes behind one with a name
                mean(axis=0, h)
                             ^
              remedy: write it first, or name it
            did not expect `2` here
                1 2
                  ^
              remedy: put an operator between two values
            did not expect `=` here
                loss = 3
                     ^
              remedy: compare by `==`
            did not expect `&&` here
                loss && step
                     ^
              remedy: write `and`
            expected a value, found `!`
                !loss
                ^
              remedy: write `not`
            the quotes are not closed
                "open
                ^
              remedy: write " at the end of the name
            `12abc` is not a number
                12abc
                ^
              remedy: write a name that begins with a digit in quotes
            `#` has no meaning here
                # loss
                ^
              remedy: write names that are not made of letters and digits in quotes
            expected a name, found the end
                h.
                  ^
              remedy: write the name of a part or a method behind the dot
            `?` has no meaning here
                loss ? 1
                     ^
              remedy: write names that are not made of letters and digits in quotes
            expected a value, found `and`
                and
                ^
              remedy: write a name, a number, a call or something in brackets
        "#]],
    );
}

#[test]
fn values_that_are_not_there() {
    check(
        "los > 10
         1 + fc1.wieght
         mena(h)
         h.mena()
         h.mean
         h.color
         mean
         grad(h)
         grad(hh)
         grad(h + 1)
         loss()
         dtype(h)
         \"nothing\"",
        expect![[r#"
            there is no value `los` here
                los > 10
                ^
              remedy: did you mean `loss`?
            there is no value `fc1.wieght` here
                1 + fc1.wieght
                    ^
              remedy: did you mean `fc1.weight`?
            there is no function `mena`
                mena(h)
                ^
              remedy: did you mean `mean` or `len` or `min`?
            there is no function `mena`
                h.mena()
                  ^
              remedy: did you mean `mean` or `len` or `min`?
            a value has no `mean`
                h.mean
                  ^
              remedy: it is a function: write `.mean()`
            a value has no `color`
                h.color
                  ^
              remedy: there are shape, size, ndim, dtype, T, grad and the functions
            there is no value `mean` here
                mean
                ^
              remedy: it is a function: write `mean(..)`
            there is no gradient of `h` now
                grad(h)
                     ^
              remedy: stop in the backward pass or behind it, before the next iteration
            there is no value `hh` here
                grad(hh)
                     ^
              remedy: there are %h2, 7, bad, bytes, cube, fc1.weight, h, ids, layers.0.bias, loss, mask, odd name and 4 more
            `grad` takes the name of a value
                grad(h + 1)
                ^
              remedy: write `grad(fc1.weight)` or `grad("fc1.weight")`
            there is no function `loss`
                loss()
                ^
              remedy: did you mean `cos` or `log` or `log2`?
            this is the text `f32`, and a value is needed
                dtype(h)
                ^
              remedy: compare texts by `==`: `dtype(h) == "f32"`
            there is no value `nothing` here
                "nothing"
                ^
              remedy: there are %h2, 7, bad, bytes, cube, fc1.weight, h, ids, layers.0.bias, loss, mask, odd name and 4 more
        "#]],
    );
}

#[test]
fn values_that_do_not_fit() {
    check(
        "1 + (h + ids)
         h @ h
         h[9]
         h[0, 0, 0]
         h[0.5]
         h[::0]
         xs[3]
         xs[0:1]
         xs + 1
         not h
         h and loss
         mean(h, 7)
         mean(h, foo=1)
         abs(h, 1)
         abs()
         topk(h)
         cast(h, \"f99\")
         dtype(h) < \"f\"
         dtype(h) + 1
         reshape(h, [4, 4])
         len(loss)
         histogram(h, bins=1000000000)
         wide[:, None] * wide
         maximum(wide[:, None], wide)
         wide[:, None] @ wide[None]",
        expect![[r#"
            add(f32[2, 3], i64[2]): shapes [2, 3] and [2] do not broadcast
                1 + (h + ids)
                     ^
              remedy: aligned from the right, sizes must be equal or 1: transpose, reshape or expand one of them
            matmul(f32[2, 3], f32[2, 3]): the inner sizes differ: 3 columns against 2 rows
                h @ h
                ^
              remedy: transpose one of them, or check the order of the arguments
            getitem(f32[2, 3]): index 9 is out of range for axis 0 of size 2
                h[9]
                 ^
            getitem(f32[2, 3]): an index of 3 axes is too long for f32[2, 3]
                h[0, 0, 0]
                 ^
              remedy: new axes are made with `NewAxis`
            an index is an integer, a slice, or a tensor of integers or bools
                h[0.5]
                  ^
              remedy: round it: `i64(round(x))`
            getitem(f32[2, 3]): the step of a slice must not be zero
                h[::0]
                 ^
            index 3 is out of range for a list of 3
                xs[3]
                   ^
            a list is indexed by one number
                xs[0:1]
                  ^
              remedy: write `xs[0]` or `xs[-1]`
            add(list f32[], f32[]): expected a tensor, found list f32[]
                xs + 1
                ^
            f32[2, 3] has several elements and is neither true nor false
                not h
                    ^
              remedy: ask whether `any(..)` or `all(..)` of them hold
            f32[2, 3] has several elements and is neither true nor false
                h and loss
                ^
              remedy: ask whether `any(..)` or `all(..)` of them hold
            mean(f32[2, 3]): axis 7 is out of range for rank 2
                mean(h, 7)
                ^
              remedy: axes are -2..2, negative ones counted from the back
            there is no argument `foo`
                mean(h, foo=1)
                ^
              remedy: write `mean(x, axis, keepdims=false)`
            there is one argument too many
                abs(h, 1)
                ^
              remedy: write `abs(x)`
            the argument `x` is missing
                abs()
                ^
              remedy: write `abs(x)`
            the argument `k` is missing
                topk(h)
                ^
              remedy: write `topk(x, k, axis=-1, largest=true)`
            there is no element type `f99`
                cast(h, "f99")
                ^
              remedy: there are bool, u8, u16, u32, u64, i8, i16, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64, c128
            texts have no order and cannot be computed with
                dtype(h) < "f"
                ^
              remedy: compare them by `==` or `!=`
            the text `f32` is not a value
                dtype(h) + 1
                ^
              remedy: texts can be compared by `==` and `!=` only
            reshape(f32[2, 3]): f32[2, 3] has 6 elements, f32[4, 4] would have 16
                reshape(h, [4, 4])
                ^
              remedy: write `reshape(x, sizes)`
            a single number has no length
                len(loss)
                ^
              remedy: `size(x)` is the number of elements
            1000000000 bins are too many
                histogram(h, bins=1000000000)
                ^
              remedy: ask for at most 100000
            a result of the sizes [20000, 20000] is too large to look at
                wide[:, None] * wide
                ^
              remedy: index the operands first, so that the result has less than 2^27 elements
            a result of the sizes [20000, 20000] is too large to look at
                maximum(wide[:, None], wide)
                ^
              remedy: index the operands first, so that the result has less than 2^27 elements
            a result of the sizes [20000, 20000] is too large to look at
                wide[:, None] @ wide[None]
                ^
              remedy: index the operands first, so that the result has less than 2^27 elements
        "#]],
    );
}

#[test]
fn conditions_of_several_elements() {
    let error = parse("1 < 2 and h > 0").unwrap().truth(&names()).unwrap_err();
    expect![[r#"
        bool[2, 3] has several elements and is neither true nor false
            1 < 2 and h > 0
                      ^
          remedy: ask whether `any(..)` or `all(..)` of them hold"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn long_texts_are_shown_around_the_fault() {
    let text = format!("{} + los + {}", vec!["loss"; 30].join(" + "), vec!["loss"; 30].join(" + "));
    let error = parse(&text).unwrap().eval(&names()).unwrap_err();
    expect![[r#"
        there is no value `los` here
            ..s + loss + loss + loss + loss + loss + loss + loss + loss + los + loss + loss + loss + loss + loss +..
                                                                          ^
          remedy: did you mean `loss`?"#]].assert_eq(&error.to_string());
}

#[test]
fn depth_is_an_error() {
    let n = 3000;
    for text in [
        format!("{}1{}", "(".repeat(n), ")".repeat(n)),
        format!("{}1{}", "[".repeat(n), "]".repeat(n)),
        format!("{}1", "-".repeat(n)),
        format!("{}1", "not ".repeat(n / 2)),
        vec!["1"; n].join("+"),
        vec!["1"; n].join("**"),
        vec!["1"; n / 2].join(" or "),
        format!("{}h{}", "abs(".repeat(n / 2), ")".repeat(n / 2)),
        format!("{}0{}", "h[".repeat(n), "]".repeat(n)),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.message().contains("nested too deeply"), "{error}");
    }
    let error = parse(&"1".repeat(20_000)).unwrap_err();
    assert!(error.message().contains("too long"), "{error}");
    let deep = format!("{}h{}", "abs(".repeat(95), ")".repeat(95));
    parse(&deep).unwrap().eval(&names()).unwrap();
    parse(&vec!["h"; 90].join("+")).unwrap().eval(&names()).unwrap();
    // Links of a chain do not count.
    parse(&format!("xs{}", "[0]".repeat(200))).unwrap();
}
