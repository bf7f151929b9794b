//! `fluvial data`.

use expect_test::expect;

use crate::sandbox::Sandbox;

#[test]
fn samples_are_shown_and_converted() {
    let sandbox = Sandbox::new();
    sandbox.write("houses.csv", "rooms,price\n3,1.5\n4,2.5\n5,4.25\n");
    let expected = expect![[r#"
        sample  rooms: i64[]  price: f32[]
        0       3             1.5
        1       4             2.5
    "#]];
    let head = |file: &str| sandbox.run(&format!("data head {file} -n 2")).fine();
    expected.assert_eq(&head("houses.csv"));
    for (from, to) in [
        ("houses.csv", "houses.rec --compression zstd --chunk 64"),
        ("houses.rec", "houses.npz"),
        ("houses.npz", "again.csv"),
    ] {
        sandbox.run(&format!("data convert {from} {to}")).fine();
    }
    for file in ["houses.rec", "houses.npz", "again.csv"] {
        expected.assert_eq(&head(file));
    }
    let expected = expect![[r#"
        3 samples
        field  type   min  max   mean  nan  bytes
        rooms  i64[]  3    5     4     0    24
        price  f32[]  1.5  4.25  2.75  0    12
    "#]];
    expected.assert_eq(&sandbox.run("data stat houses.rec").fine());
    // Several files are one after another, and the last one is written.
    let done = sandbox.run("data convert houses.rec houses.rec twice.rec");
    assert_eq!(done.stderr, "wrote twice.rec: 6 samples\n");
    done.fine();
}

#[test]
fn samples_for_machines() {
    let sandbox = Sandbox::new();
    sandbox.write("houses.csv", "3;1.5\n4;2.5\n");
    let options = "--option header=false --option delimiter=; --option names=[\"a\",\"b\"]";
    let events = sandbox.run(&format!("data head houses.csv --json {options}")).events();
    assert_eq!(events.len(), 2);
    assert_eq!((&events[1]["number"], &events[1]["fields"]["a"]["values"]), (&1.into(), &4.into()));
    let events = sandbox.run(&format!("data stat houses.csv --json {options}")).events();
    assert_eq!(
        (&events[0]["samples"], &events[0]["fields"][0]["type"]),
        (&2.into(), &"i64[]".into())
    );
}

#[test]
fn files_that_are_no_samples() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.rec", "no records");
    sandbox.write("some.csv", "a,b\n1\n");
    for (line, status, message) in [
        ("data head missing.csv", 1, "`missing.csv`: No such file"),
        ("data head broken.rec", 1, "broken.rec"),
        ("data head some.csv", 1, "some.csv"),
        ("data head some.csv --format tape", 1, "the format `tape` is not known"),
        ("data head some.csv --option tape=1", 1, "tape"),
        ("data head some.csv --option tape", 2, "`tape` sets nothing"),
        ("data head some.csv --option tape={}", 2, "`{}` is not a setting"),
        ("data convert some.csv", 2, "required"),
    ] {
        let fault = sandbox.run(line).fault();
        assert!(fault.starts_with(&format!("exit code {status}\nerror: ")), "{line}: {fault}");
        assert!(fault.contains(message), "{line}: {fault}");
    }
    sandbox.write("fine.csv", "a\n1\n");
    let fault = sandbox.run("data convert fine.csv fine.xls").fault();
    assert!(fault.contains("does not end in a format that is written"), "{fault}");
}
