use expect_test::expect;

use super::talks::check;
use crate::terminal::Left;

#[test]
fn values() {
    check(
        "values",
        "p w
         p w @ x
         w[0]
         print sum(w) > 3
         dtype(w)
         s
         watch mean(h1)
         watch loss
         s
         watch
         unwatch 1
         set w[0, 0] = 10
         w[1] *= 2
         w = w + 1
         set w
         edits
         n
         inputs
         output
         params
         live
         scopes
         programs
         plot w
         hist w
         p los
         plot dtype(w)
         unwatch 5",
        Left::Detached,
        expect![[r#"
            entry: the first op [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) p w
            f32[2, 2] mean=2.5 sd=1.118 min=1 max=4 nan=0 inf=0 #1b28
            [[1.0, 2.0],
             [3.0, 4.0]]
            (fluvial) p w @ x
            f32[2, 2] mean=2.5 sd=1.118 min=1 max=4 nan=0 inf=0 #1b28
            [[1.0, 2.0],
             [3.0, 4.0]]
            (fluvial) w[0]
            f32[2] mean=1.5 sd=0.5 min=1 max=2 nan=0 inf=0 #eef3
            [1.0, 2.0]
            (fluvial) print sum(w) > 3
            true
            (fluvial) dtype(w)
            f32
            (fluvial) s
            step [step 0 of 4]
              train.py:4 in step 0 of 4
                 4 |     h2 = fl.log(h1)
              %h2 = log(%h1)   h1: f32[2, 2]
            (fluvial) watch mean(h1)
              1: mean(h1) = 2.5
            (fluvial) watch loss
              2: loss = <there is no value `loss` here>
            (fluvial) s
            step [step 0 of 4]
              train.py:6 in step 0 of 4
                 6 |     loss = h2.mean()
              %loss = mean(%h2)   h2: f32[2, 2]
              1: mean(h1) = 2.5
              2: loss = <there is no value `loss` here>
            (fluvial) watch
              1: mean(h1) = 2.5
              2: loss = <there is no value `loss` here>
            (fluvial) unwatch 1
            (fluvial) set w[0, 0] = 10
            f32[2, 2] mean=4.75 sd=3.112 min=2 max=10 nan=0 inf=0 #e8c7
            [[10.0, 2.0],
             [3.0, 4.0]]
            (fluvial) w[1] *= 2
            f32[2, 2] mean=6.5 sd=2.958 min=2 max=10 nan=0 inf=0 #aed8
            [[10.0, 2.0],
             [6.0, 8.0]]
            (fluvial) w = w + 1
            f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df
            [[11.0, 3.0],
             [7.0, 9.0]]
            (fluvial) set w
            it is not said what to set
              remedy: write `set NAME = EXPR` or `set NAME[I, J] = EXPR`
            (fluvial) edits
            w at op 2
            w at op 2
            w at op 2
            (fluvial) n
            step [step 0 of 4]
              train.py:7 in step 0 of 4
                 7 |     w = w - 0.1 * loss
              w = sub(%w, %loss)   w: f32[2, 2], loss: f32[]
              note: 3 values were edited
              2: loss = 1.0
            (fluvial) inputs
            w     f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df  (a parameter)
            loss  1.0
            (fluvial) output
            Output: nothing here
            (fluvial) params
            w  f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df  (a parameter)
            (fluvial) live
            w     f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df  (a parameter)
            x     f32[2, 2] mean=0.5 sd=0.5 min=0 max=1 nan=0 inf=0 #f495
            h1    f32[2, 2] mean=2.5 sd=1.118 min=1 max=4 nan=0 inf=0 #3a35
            h2    f32[2, 2] mean=0.7997 sd=0.5242 min=0 max=1.4 nan=0 inf=0 #b304
            loss  1.0
            (fluvial) scopes
            inputs   Inputs             2
            live     All live tensors
            (fluvial) programs
            1 train
            (fluvial) plot w
            f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df
            █·
            ▒▓
            3 ·░▒▓█ 11
            (fluvial) hist w
            f32[2, 2] mean=7.5 sd=2.958 min=3 max=11 nan=0 inf=0 #a6df
                3 .. 3.667 ████████████████████████████████████████ 1
            3.667 .. 4.333  0
            4.333 ..     5  0
                5 .. 5.667  0
            5.667 .. 6.333  0
            6.333 ..     7  0
                7 .. 7.667 ████████████████████████████████████████ 1
            7.667 .. 8.333  0
            8.333 ..     9  0
                9 .. 9.667 ████████████████████████████████████████ 1
            9.667 .. 10.33  0
            10.33 ..    11 ████████████████████████████████████████ 1
            (fluvial) p los
            there is no value `los` here
                los
                ^
              remedy: did you mean `loss`?
            (fluvial) plot dtype(w)
            `f32` is a text
              remedy: write an expression that is a tensor
            (fluvial) unwatch 5
            there is no watch `5`
              remedy: `watch` lists them
            (fluvial) 
        "#]],
    );
}

#[test]
fn places() {
    check(
        "places",
        "b 4
         where
         up

         up
         down 9
         down
         s
         list

         list 1
         list FOLDER:x
         listing
         listing compiled
         listing fused
         kernel",
        Left::Detached,
        expect![[r#"
            entry: the first op [step 0 of 4]
              train.py:3 in step 0 of 4
                 3 |     h1 = x @ w
              %h1 = matmul(%x, %w)   w: f32[2, 2], x: f32[2, 2]
            (fluvial) b 4
            1 train.py:4
            (fluvial) where
            > 0 %h1 = matmul(%x, %w)  train.py:3
              1 step 0 of 4  train.py:2
              2 train  train.py:2
            (fluvial) up
            > 1 step 0 of 4  train.py:2
            (fluvial) 
            > 2 train  train.py:2
            (fluvial) up
            this is the outermost frame
              remedy: `where` shows all
            (fluvial) down 9
            > 0 %h1 = matmul(%x, %w)  train.py:3
            (fluvial) down
            this is the innermost frame
              remedy: `where` shows all
            (fluvial) s
            breakpoint 1: a line was reached [step 0 of 4]
              train.py:4 in step 0 of 4
                 4 |     h2 = fl.log(h1)
              %h2 = log(%h1)   h1: f32[2, 2]
            (fluvial) list
                  1 | import fluvial as fl
                  2 | def train(x, w):
             *    3 |     h1 = x @ w
            >B    4 |     h2 = fl.log(h1)
                  5 | 
             *    6 |     loss = h2.mean()
             *    7 |     w = w - 0.1 * loss
            (fluvial) 
            there are no more lines
              remedy: write `list LINE`
            (fluvial) list 1
                  1 | import fluvial as fl
                  2 | def train(x, w):
             *    3 |     h1 = x @ w
            >B    4 |     h2 = fl.log(h1)
                  5 | 
             *    6 |     loss = h2.mean()
             *    7 |     w = w - 0.1 * loss
            (fluvial) list FOLDER:x
            `FOLDER:x` is not a line
              remedy: write `list 10` or `list FILE:10`
            (fluvial) listing
                  1 | program train {
                  2 |   %h1 = matmul(%x, %w)
            >     3 |   %h2 = log(%h1)
                  4 |   %loss = mean(%h2)
                  5 |   assign w = sub(%w, %loss)
                  6 | }
            (fluvial) listing compiled
            program train, compiled
            (fluvial) listing fused
            there is no listing `fused`
              remedy: write `listing` or `listing compiled`
            (fluvial) kernel
            no op was fused here
              remedy: `listing compiled` shows all ops
            (fluvial) 
        "#]],
    );
}
