use std::sync::atomic::Ordering;

use expect_test::{Expect, expect};

use super::mock::Mock;
use crate::target::{Go, Target};
use crate::terminal::{Left, Options, run};

fn talk(mock: &Mock, commands: &str, options: Options) -> (String, Left) {
    let commands: String = commands.lines().map(|line| format!("{}\n", line.trim())).collect();
    let mut output = Vec::new();
    let left = run(mock, &mut commands.as_bytes(), &mut output, options).unwrap();
    let text = String::from_utf8(output).unwrap();
    let folder = mock.file.parent().unwrap().to_str().unwrap();
    (text.replace(folder, "FOLDER").replace('\x1b', "^"), left)
}

/// What is said when these commands are given, and how it is left.
pub fn check(name: &str, commands: &str, left: Left, expected: Expect) {
    let mock = Mock::new(name);
    let options = Options { echo: true, ..Options::default() };
    let (text, found) = talk(&mock, commands, options);
    expected.assert_eq(&text);
    assert_eq!(found, left);
}

#[test]
fn steps() {
    check(
        "steps",
        "n
         s

         i
         s 2
         back
         bs
         goto 3
         restart
         back
         goto 9
         next x
         iteration 9",
        Left::Ended,
        expect![[r#"
            entry: the first op [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) n
            step [step 0 of 4]
              train.py:4 in step 0 of 4
                 4 |     h2 = fl.log(h1)
              %h2 = log(%h1)   h1: f32[2, 2]
            (fluvial) s
            step [step 0 of 4]
              train.py:6 in step 0 of 4
                 6 |     loss = h2.mean()
              %loss = mean(%h2)   h2: f32[2, 2]
            (fluvial) 
            step [step 0 of 4]
              train.py:7 in step 0 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
            (fluvial) i
            step [step 1 of 4]
              train.py:3 in step 1 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) s 2
            step [step 1 of 4]
              train.py:6 in step 1 of 4
                 6 |     loss = h2.mean()
              %loss = mean(%h2)   h2: f32[2, 2]
            (fluvial) back
            step [step 1 of 4]
              train.py:4 in step 1 of 4
                 4 |     h2 = fl.log(h1)
              %h2 = log(%h1)   h1: f32[2, 2]
            (fluvial) bs
            step [step 1 of 4]
              train.py:3 in step 1 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) goto 3
            goto [step 3 of 4]
              train.py:3 in step 3 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) restart
            step: the beginning [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) back
            it is not possible to go back from here
              remedy: there is no earlier state: go on by `next`, or start the run again
            (fluvial) goto 9
            there is no step 9
              remedy: there are 4
            (fluvial) next x
            `x` is not a number of times
              remedy: write a number from 1 on, or nothing
            (fluvial) iteration 9
            The program has ended.
        "#]],
    );
}

#[test]
fn breakpoints() {
    check(
        "breakpoints",
        "break
         b 5
         b train.py:99
         b log if step >= 1 hits 2
         b mean log step {step}: {mean(h2):.3f} {{}}
         b change w
         b nan
         b listing:2
         bl
         c
         disable 1 nan 6
         c
         cond 3
         c
         cond 3 step > 99
         delete 1 2
         bl
         c
         c
         b if x
         b change
         b x if 1 +
         b x hits often
         b x log {
         delete 77
         cond 3 (
         enable
         delete
         bl
         c",
        Left::Ended,
        expect![[r#"
            entry: the first op [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) break
            There are no breakpoints.
            (fluvial) b 5
            1 train.py:6
            (fluvial) b train.py:99
            2 train.py:99 (no op was made at or behind this line)
            (fluvial) b log if step >= 1 hits 2
            3 `log` if step >= 1 hits 2
            (fluvial) b mean log step {step}: {mean(h2):.3f} {{}}
            4 `mean` log step {step}: {mean(h2):.3f} {{}}
            (fluvial) b change w
            5 changes of `w`
            (fluvial) b nan
            nan
            (fluvial) b listing:2
            6 line 2 of the listing
            (fluvial) bl
            1 train.py:6
            2 train.py:99 (no op was made at or behind this line)
            3 `log` if step >= 1 hits 2
            4 `mean` log step {step}: {mean(h2):.3f} {{}}
            5 changes of `w`
            nan
            6 line 2 of the listing
            (fluvial) c
            step 0: 0.800 {}
            breakpoint 1: a line was reached [step 0 of 4]
              train.py:6 in step 0 of 4
                 6 |     loss = h2.mean()
              %loss = mean(%h2)   h2: f32[2, 2]
            (fluvial) disable 1 nan 6
            (fluvial) c
            change 5: `w` changes [step 0 of 4]
              train.py:7 in step 0 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
            (fluvial) cond 3
            3 `log` hits 2
            (fluvial) c
            step 1: 0.698 {}
            change 5: `w` changes [step 1 of 4]
              train.py:7 in step 1 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
            (fluvial) cond 3 step > 99
            3 `log` if step > 99 hits 2
            (fluvial) delete 1 2
            (fluvial) bl
            3 `log` if step > 99 hits 2
            4 `mean` log step {step}: {mean(h2):.3f} {{}}
            5 changes of `w`
            nan (disabled)
            6 line 2 of the listing (disabled)
            (fluvial) c
            step 2: 0.525 {}
            change 5: `w` changes [step 2 of 4]
              train.py:7 in step 2 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
            (fluvial) c
            step 3: NaN {}
            change 5: `w` changes [step 3 of 4]
              train.py:7 in step 3 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
            (fluvial) b if x
            it is not said where to stop
              remedy: write a line, a name, `change NAME` or `nan`; see `help break`
            (fluvial) b change
            it is not said where to stop
              remedy: write a line, a name, `change NAME` or `nan`; see `help break`
            (fluvial) b x if 1 +
            expected a value, found the end
                1 +
                   ^
              remedy: write a name, a number, a call or something in brackets
            (fluvial) b x hits often
            `often` is not a condition on a number of hits
              remedy: write `3`, `>= 3`, `> 3`, `<= 3`, `< 3` or `% 100`
            (fluvial) b x log {
            the brace at column 1 is not closed
              remedy: write `{expression}`, or `{{` and `}}` for braces
            (fluvial) delete 77
            there is no breakpoint `77`
              remedy: `breakpoints` lists them
            (fluvial) cond 3 (
            expected a value, found the end
                (
                 ^
              remedy: write a name, a number, a call or something in brackets
            (fluvial) enable
            (fluvial) delete
            (fluvial) bl
            There are no breakpoints.
            (fluvial) c
            The program has ended.
        "#]],
    );
}

#[test]
fn words() {
    check(
        "words",
        "help break
         help nonsense
         brake
         frobnicate
         alias pw print sum(w)
         pw
         alias
         alias n s
         alias z zz
         # a remark
         quit",
        Left::Quit,
        expect![[r#"
            entry: the first op [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) help break
            break FILE:LINE | LINE | NAME | change NAME | nan | nan-anywhere | inf | loss-spike | error | listing:LINE [in forward | backward | optimizer] [if EXPR] [hits N] [log TEXT]
                stops there, or writes TEXT, in which {expr} stands for a value
                short: b
            (fluvial) help nonsense
            there is no command `nonsense`
              remedy: `help` lists all commands, `print` shows values
            (fluvial) brake
            there is no command `brake`
              remedy: did you mean `break`? `help` lists all commands
            (fluvial) frobnicate
            there is no command `frobnicate`
              remedy: `help` lists all commands, `print` shows values
            (fluvial) alias pw print sum(w)
            (fluvial) pw
            10.0
            (fluvial) alias
            pw = print sum(w)
            (fluvial) alias n s
            `n` is a command
              remedy: choose another name
            (fluvial) alias z zz
            `zz` does not begin with a command
              remedy: write `alias NAME COMMAND ..`, as in `alias pl print loss`
            (fluvial) # a remark
            (fluvial) quit
        "#]],
    );
}

#[test]
fn every_command_is_in_the_help() {
    let (text, _) = talk(&Mock::new("help"), "help\n", Options::default());
    expect![[r#"
        entry: the first op [step 0 of 4]
          train.py:3 in step 0 of 4
             3 |     h1 = x @ w
          %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
        (fluvial) Going on
          continue (c)         until something stops the program
          next (n)             to the next line
          step (s)             to the next op, also inside of loops and fused ops
          out (o)              out of the layer
          iteration (i)        to the next iteration, or so many further
          goto (g)             to the first op of step N, forwards or backwards
          back (bn)            to the line before
          backop (bs)          to the op before
          rcontinue (rc)       backwards until something stops the program
          restart              to the beginning of the run
          pause                stops a program that runs; so does Ctrl-C
          detach               leaves; the program goes on
          quit (q)             leaves; ends the program if it was started for the debugger
          kill                 ends the program
        Breakpoints
          break (b)            stops there, or writes TEXT, in which {expr} stands for a value
          cond (condition)     stops only if EXPR holds, or always
          delete (del)         removes some breakpoints, or all
          disable              lets some breakpoints rest, or all
          enable               brings them back
          breakpoints (bl)     lists them
        Looking
          print (p)            the value of an expression
          set                  changes a value; the run goes on with it
          plot                 a picture of a tensor
          hist                 how often which numbers occur
          watch (display)      shows it at each stop; all of them, now
          unwatch (undisplay)  shows it no longer
          inputs               what the op takes
          output               what the op has computed
          vars (locals)        the variables of your function, also those that are gone
          params               parameters
          grads                gradients
          optim                what optimizers keep
          loop                 steps, epochs, the loss
          live                 all values that are alive
          scopes               what there is to see here
          edits                what was changed so far
          programs             the programs that have run
          threads              the threads whose runs are debugged
          thread               looks at another thread that is stopped
          record               writes the run into a file; `fluvial debug FILE.flr` opens it
        Places
          where (bt)           what is under way
          up (u)               to the frame around
          down                 to the frame inside
          list (l)             the source; `*` marks lines with ops
          listing (ir)         the text of the program around the op
          kernel               the kernel of a fused op
        Others
          help (h)             this
          alias                gives a command another name; lists them
        `help COMMAND` tells more. An empty line repeats the last step.
        (fluvial) 
    "#]]
    .assert_eq(&text);
}

#[test]
fn ctrl_c_pauses_a_program_that_runs() {
    let mut mock = Mock::new("pause");
    let options = Options { echo: true, ..Options::default() };
    mock.pressed = Some(options.interrupt.clone());
    // Pressed at the prompt, it has no effect.
    options.interrupt.store(true, Ordering::Relaxed);
    let (text, left) = talk(&mock, "n\nc\npause\ndetach", options);
    expect![[r#"
        entry: the first op [step 0 of 4]
          train.py:3 in step 0 of 4
             3 |     h1 = x @ w
          %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
        (fluvial) n
        step [step 0 of 4]
          train.py:4 in step 0 of 4
             4 |     h2 = fl.log(h1)
          %h2 = log(%h1)   h1: f32[2, 2]
        (fluvial) c
        pause: on request [step 0 of 4]
          train.py:4 in step 0 of 4
             4 |     h2 = fl.log(h1)
          %h2 = log(%h1)   h1: f32[2, 2]
        (fluvial) pause
        the program is stopped already
          remedy: `continue` goes on
        (fluvial) detach
        The program goes on alone.
    "#]]
    .assert_eq(&text);
    assert_eq!(left, Left::Detached);
}

#[test]
fn colours() {
    let options = Options { colours: true, ..Options::default() };
    let (text, _) = talk(&Mock::new("colours"), "b nan\nc\nq", options);
    expect![[r#"
        ^[1mentry: the first op [step 0 of 4]^[0m
          ^[32mtrain.py:3^[0m in step 0 of 4
             3 |     h1 = x @ w
          ^[36m%h1 = matmul(%x, %w)^[0m^[2m   w: f32[2, 2], x: f32[2, 2]^[0m
        ^[1m(fluvial) ^[0mnan
        ^[1m(fluvial) ^[0m^[1;31mnan: log gave NaN in %h2 [step 3 of 4]^[0m
          ^[32mtrain.py:4^[0m in step 3 of 4
             4 |     h2 = fl.log(h1)
          ^[36m%h2 = log(%h1)^[0m^[2m   h1: f32[2, 2]^[0m
        ^[1m(fluvial) ^[0m"#]]
    .assert_eq(&text);
}

#[test]
fn a_program_that_ends_ends_the_talk() {
    let mock = Mock::new("ends");
    let events = mock.events();
    let (text, left) = talk(&mock, "c\n", Options::default());
    assert_eq!(left, Left::Ended);
    assert!(text.ends_with("The program has ended.\n"), "{text}");
    assert!(events.try_iter().count() > 1);
    mock.go(Go::Quit).unwrap();
}

/// Any commands are done or refused, and the talk ends.
#[test]
fn nonsense() {
    let words = [
        "break",
        "b",
        "cond",
        "delete",
        "n",
        "s",
        "i",
        "back",
        "bs",
        "goto",
        "list",
        "up",
        "down",
        "p",
        "plot",
        "hist",
        "set",
        "watch",
        "1",
        "-1",
        "w",
        "99999999999999999999",
        "if",
        "hits",
        "log",
        "x:1",
        "listing:1",
        "h1[0",
        "= 3",
        "nan",
        "alias",
        "help",
        "{",
        "é",
    ];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mock = Mock::new("nonsense");
    for _ in 0..150 {
        let line = |below: &mut dyn FnMut(usize) -> usize| -> String {
            (0..1 + below(4)).map(|_| format!("{} ", words[below(words.len())])).collect()
        };
        let commands: String = (0..12).map(|_| format!("{}\n", line(&mut below))).collect();
        mock.go(Go::ToStep(0)).unwrap();
        talk(&mock, &commands, Options::default());
    }
}
