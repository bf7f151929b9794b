//! The commands, their names and what they do.

use fluvial_core::{Error, Result};

use super::session::Session;
use super::{Left, breaks, going, looking, source};
use crate::expr::names;
use crate::target::{Go, ScopeKind};

/// What follows a command.
pub enum Flow {
    /// The next command.
    Stay,
    /// The program goes on, so many times.
    Go(Go, u64),
    /// The end.
    Leave(Left),
}

/// A command: its names, the full one first, how it is used, what it is for and what it does.
struct Command {
    names: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
    /// Whether an empty line does it again.
    repeats: bool,
    run: fn(&mut Session, &str) -> Result<Flow>,
}

const fn command(
    names: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
    run: fn(&mut Session, &str) -> Result<Flow>,
) -> Command {
    Command { names, usage, help, repeats: false, run }
}

const fn again(command: Command) -> Command {
    Command { repeats: true, ..command }
}

/// By groups, in the order of the help.
static COMMANDS: &[(&str, &[Command])] = &[
    (
        "Going on",
        &[
            again(command(
                &["continue", "c", "run", "r"],
                "",
                "until something stops the program",
                going::resume,
            )),
            again(command(&["next", "n"], "[N]", "to the next line", going::next)),
            again(command(
                &["step", "s"],
                "[N]",
                "to the next op, also inside of loops and fused ops",
                going::step,
            )),
            again(command(&["out", "o", "finish"], "", "out of the layer", going::out)),
            again(command(
                &["iteration", "i"],
                "[N]",
                "to the next iteration, or so many further",
                going::iteration,
            )),
            command(
                &["goto", "g"],
                "N",
                "to the first op of step N, forwards or backwards",
                going::goto,
            ),
            again(command(&["back", "bn"], "[N]", "to the line before", going::back)),
            again(command(&["backop", "bs"], "[N]", "to the op before", going::backop)),
            again(command(
                &["rcontinue", "rc"],
                "",
                "backwards until something stops the program",
                going::rcontinue,
            )),
            command(&["restart"], "", "to the beginning of the run", going::restart),
            command(&["pause"], "", "stops a program that runs; so does Ctrl-C", going::pause),
            command(&["detach"], "", "leaves; the program goes on", going::detach),
            command(
                &["quit", "q", "exit"],
                "",
                "leaves; ends the program if it was started for the debugger",
                going::quit,
            ),
            command(&["kill"], "", "ends the program", going::kill),
        ],
    ),
    (
        "Breakpoints",
        &[
            command(
                &["break", "b"],
                "FILE:LINE | LINE | NAME | change NAME | nan | nan-anywhere | inf | loss-spike | error | \
                 listing:LINE [in forward | backward | optimizer] [if EXPR] [hits N] [log TEXT]",
                "stops there, or writes TEXT, in which {expr} stands for a value",
                breaks::set,
            ),
            command(
                &["cond", "condition"],
                "ID [EXPR]",
                "stops only if EXPR holds, or always",
                breaks::condition,
            ),
            command(
                &["delete", "del", "d"],
                "[ID ..]",
                "removes some breakpoints, or all",
                breaks::delete,
            ),
            command(&["disable"], "[ID ..]", "lets some breakpoints rest, or all", breaks::disable),
            command(&["enable"], "[ID ..]", "brings them back", breaks::enable),
            command(&["breakpoints", "bl"], "", "lists them", breaks::list),
        ],
    ),
    (
        "Looking",
        &[
            command(&["print", "p"], "EXPR", "the value of an expression", looking::print),
            command(
                &["set"],
                "NAME = EXPR | NAME[I, J] = EXPR",
                "changes a value; the run goes on with it",
                looking::set,
            ),
            command(&["plot"], "EXPR", "a picture of a tensor", looking::plot),
            command(&["hist"], "EXPR", "how often which numbers occur", looking::hist),
            command(
                &["watch", "display"],
                "[EXPR]",
                "shows it at each stop; all of them, now",
                looking::watch,
            ),
            command(&["unwatch", "undisplay"], "[N ..]", "shows it no longer", looking::unwatch),
            command(&["inputs"], "", "what the op takes", |s, _| {
                looking::scope(s, ScopeKind::Inputs)
            }),
            command(&["output"], "", "what the op has computed", |s, _| {
                looking::scope(s, ScopeKind::Output)
            }),
            command(
                &["vars", "locals"],
                "",
                "the variables of your function, also those that are gone",
                |s, _| looking::scope(s, ScopeKind::Variables),
            ),
            command(&["params"], "", "parameters", |s, _| looking::scope(s, ScopeKind::Parameters)),
            command(&["grads"], "", "gradients", |s, _| looking::scope(s, ScopeKind::Gradients)),
            command(&["optim"], "", "what optimizers keep", |s, _| {
                looking::scope(s, ScopeKind::Optimizer)
            }),
            command(&["loop"], "", "steps, epochs, the loss", |s, _| {
                looking::scope(s, ScopeKind::Loop)
            }),
            command(&["live"], "", "all values that are alive", |s, _| {
                looking::scope(s, ScopeKind::Live)
            }),
            command(&["scopes"], "", "what there is to see here", looking::scopes),
            command(&["edits"], "", "what was changed so far", looking::edits),
            command(&["programs"], "", "the programs that have run", looking::programs),
            command(&["threads"], "", "the threads whose runs are debugged", going::threads),
            command(&["thread"], "N", "looks at another thread that is stopped", going::thread),
            command(
                &["record"],
                "FILE.flr",
                "writes the run into a file; `fluvial debug FILE.flr` opens it",
                going::record,
            ),
        ],
    ),
    (
        "Places",
        &[
            command(&["where", "bt", "w"], "", "what is under way", source::frames),
            again(command(&["up", "u"], "[N]", "to the frame around", source::up)),
            again(command(&["down"], "[N]", "to the frame inside", source::down)),
            again(command(
                &["list", "l"],
                "[LINE | FILE:LINE]",
                "the source; `*` marks lines with ops",
                source::list,
            )),
            command(
                &["listing", "ir"],
                "[compiled]",
                "the text of the program around the op",
                source::listing,
            ),
            command(&["kernel"], "", "the kernel of a fused op", source::kernel),
        ],
    ),
    (
        "Others",
        &[
            command(&["help", "h", "?"], "[COMMAND]", "this", help),
            command(
                &["alias"],
                "[NAME COMMAND]",
                "gives a command another name; lists them",
                alias,
            ),
        ],
    ),
];

fn all() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().flat_map(|(_, commands)| commands.iter())
}

/// The full names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().filter_map(|command| command.names.first().copied())
}

fn find(name: &str) -> Option<&'static Command> {
    all().find(|command| command.names.contains(&name))
}

/// Does what a line says; what follows, and whether an empty line does it again.
pub fn run(session: &mut Session, line: &str) -> Result<(Flow, bool)> {
    let (name, rest) = split(line);
    let alias = session.aliases.get(name).map(|command| format!("{command} {rest}"));
    let line = alias.as_deref().unwrap_or(line).trim();
    let (name, rest) = split(line);
    // Values may have the names of commands.
    let assigns = |mark: &&str| rest.starts_with(*mark) && !rest.starts_with("==");
    match find(name) {
        Some(_) if ["=", "+=", "-=", "*=", "/="].iter().any(assigns) => {
            Ok((looking::set(session, line)?, false))
        }
        Some(command) => Ok(((command.run)(session, rest)?, command.repeats)),
        None => unknown(session, name, line),
    }
}

/// What is not a command is an expression or an edit, if it looks like one.
fn unknown(session: &mut Session, name: &str, line: &str) -> Result<(Flow, bool)> {
    let is_word = line == name && name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    let is_value = session.stop.is_some()
        && (!is_word || session.target.names(session.frame).iter().any(|known| known == name));
    if is_value && crate::expr::Statement::parse(line).is_ok() {
        return Ok((looking::print(session, line)?, false));
    }
    let known: Vec<String> =
        all().flat_map(|command| command.names.iter()).map(|name| name.to_string()).collect();
    let near = names::nearest(name, &known);
    let remedy = match near.first() {
        Some(near) => format!("did you mean `{near}`? `help` lists all commands"),
        None => "`help` lists all commands, `print` shows values".to_string(),
    };
    Err(Error::argument(format!("there is no command `{name}`")).remedy(remedy))
}

/// The first word and the rest.
fn split(line: &str) -> (&str, &str) {
    let line = line.trim();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim())
}

fn help(session: &mut Session, name: &str) -> Result<Flow> {
    if !name.is_empty() {
        let Some(command) = find(name) else {
            return unknown(session, name, name).map(|(flow, _)| flow);
        };
        session.say(format!("{} {}", command.names[0], command.usage).trim_end());
        session.say(format!("    {}", command.help));
        if command.names.len() > 1 {
            session.say(format!("    short: {}", command.names[1..].join(", ")));
        }
        return Ok(Flow::Stay);
    }
    for (title, commands) in COMMANDS {
        session.say(session.paint.bold(title));
        for command in *commands {
            let short = command.names.get(1).map(|short| format!(" ({short})")).unwrap_or_default();
            session.say(format!(
                "  {:<20} {}",
                format!("{}{short}", command.names[0]),
                command.help
            ));
        }
    }
    session.say("`help COMMAND` tells more. An empty line repeats the last step.");
    Ok(Flow::Stay)
}

fn alias(session: &mut Session, rest: &str) -> Result<Flow> {
    let (name, command) = split(rest);
    if name.is_empty() {
        for (name, command) in session.aliases.clone() {
            session.say(format!("{name} = {command}"));
        }
        return Ok(Flow::Stay);
    }
    if find(name).is_some() {
        return Err(Error::argument(format!("`{name}` is a command")).remedy("choose another name"));
    }
    if find(split(command).0).is_none() {
        return Err(Error::argument(format!("`{command}` does not begin with a command"))
            .remedy("write `alias NAME COMMAND ..`, as in `alias pl print loss`"));
    }
    session.aliases.insert(name.to_string(), command.to_string());
    Ok(Flow::Stay)
}
