//! Which request is met by what; how a session begins and ends; how the program goes on.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use fluvial_core::Phase as Mark;
use serde_json::{Value, json};

use super::listener::Farewell;
use super::session::{Answer, Next, Phase, Session, start_pump};
use super::token::is_same;
use crate::protocol::{Args, Request, event};
use crate::target::{Fault, FrameKind, Go, ThreadInfo};

/// How often a token may be wrong.
const MAX_BAD_TOKENS: usize = 3;

impl Session {
    /// What a request gives.
    pub(super) fn meet(&mut self, request: &Request, own: &Arc<Mutex<Session>>) -> Answer {
        let args = request.args();
        match (request.command.as_str(), self.phase) {
            ("disconnect", _) => self.disconnect(args),
            ("initialize", Phase::New) => self.initialize(args),
            ("initialize", _) => Err("initialize: this was already done".to_string()),
            (command, Phase::New) => Err(format!("{command}: send `initialize` first")),
            ("attach" | "launch", Phase::Initialized) => self.attach(request, own),
            (command, Phase::Initialized) => {
                Err(format!("{command}: send `attach` first, and the token with it"))
            }
            ("attach" | "launch", _) => Err(format!("{}: already attached", request.command)),
            (command, Phase::Over) => Err(format!("{command}: the session is over")),
            (command, Phase::Attached | Phase::Configured) => self.meet_attached(command, args),
        }
    }

    /// What a request of a client in control gives.
    fn meet_attached(&mut self, command: &str, args: Args) -> Answer {
        match command {
            "configurationDone" => self.configuration_done(),
            "setBreakpoints" => self.set_breakpoints(args),
            "setFunctionBreakpoints" => self.set_function_breakpoints(args),
            "setExceptionBreakpoints" => self.set_exception_breakpoints(args),
            "setDataBreakpoints" => self.set_data_breakpoints(args),
            "dataBreakpointInfo" => self.data_breakpoint_info(args),
            "breakpointLocations" => self.breakpoint_locations(args),
            "threads" => Ok(self.all_threads()),
            "stackTrace" => self.stack_trace(args),
            "scopes" => self.scopes(args),
            "variables" => self.variables(args),
            "setVariable" => self.set_variable(args),
            "setExpression" => self.set_expression(args),
            "evaluate" => self.evaluate(args),
            "completions" => self.completions(args),
            "exceptionInfo" => self.exception_info(args),
            "source" => self.source(args),
            "loadedSources" => Ok(self.loaded_sources()),
            "readMemory" => self.read_memory(args),
            "continue" => {
                let is_all = self.is_one_thread();
                self.go(args, Go::Continue, json!({"allThreadsContinued": is_all}))
            }
            "next" => self.step(args, Go::NextLine, Go::NextOp),
            "stepIn" => self.step(args, Go::NextOp, Go::NextOp),
            "stepOut" => {
                self.stop_in(args)?;
                let how = self.way_out();
                self.step(args, how.clone(), how)
            }
            "stepBack" => self.step(args, Go::BackLine, Go::BackOp),
            "reverseContinue" => self.go(args, Go::BackContinue, Value::Null),
            "restart" => self.restart(),
            "gotoTargets" => self.goto_targets(),
            "goto" => self.goto(args),
            "pause" => self.pause(args),
            "fluvial/record" => self.record(args),
            "cancel" => Ok(Value::Null),
            "terminate" => self.terminate(),
            "fluvial/info" => Ok(self.info()),
            _ => Err(format!("{command}: this debugger has no such request")),
        }
    }

    fn initialize(&mut self, args: Args) -> Answer {
        let counts_from = |name| i64::from(args.maybe_flag(name).unwrap_or(true));
        self.client.first_line = counts_from("linesStartAt1");
        self.client.first_column = counts_from("columnsStartAt1");
        self.client.uses_uris = args.text("pathFormat") == Some("uri");
        self.client.shows_progress = args.flag("supportsProgressReporting");
        self.client.reads_again = args.flag("supportsInvalidatedEvent");
        self.phase = Phase::Initialized;
        Ok(self.capabilities())
    }

    fn capabilities(&self) -> Value {
        let filters: Vec<Value> = Fault::ALL.into_iter().map(filter).collect();
        let modes: Vec<Value> = Mark::ALL
            .into_iter()
            .map(|phase| {
                let label = format!("only in the {} pass", phase.name());
                json!({"mode": phase.name(), "label": label, "appliesTo": ["source"]})
            })
            .collect();
        json!({
            "supportsConfigurationDoneRequest": true,
            "supportsConditionalBreakpoints": true,
            "supportsHitConditionalBreakpoints": true,
            "supportsLogPoints": true,
            "supportsFunctionBreakpoints": true,
            "supportsDataBreakpoints": true,
            "supportsBreakpointLocationsRequest": true,
            "supportsExceptionInfoRequest": true,
            "supportsExceptionFilterOptions": true,
            "exceptionBreakpointFilters": filters,
            "breakpointModes": modes,
            "supportsEvaluateForHovers": true,
            "supportsClipboardContext": true,
            "supportsSetVariable": true,
            "supportsSetExpression": true,
            "supportsCompletionsRequest": true,
            "completionTriggerCharacters": [".", "("],
            "supportsValueFormattingOptions": true,
            "supportsReadMemoryRequest": true,
            "supportsLoadedSourcesRequest": true,
            "supportsSteppingGranularity": true,
            "supportsStepBack": self.shared.options.can_go_back,
            "supportsGotoTargetsRequest": true,
            "supportsRestartRequest": true,
            "supportsCancelRequest": true,
            "supportsTerminateRequest": true,
            "supportTerminateDebuggee": true,
            "supportSuspendDebuggee": true,
        })
    }

    fn attach(&mut self, request: &Request, own: &Arc<Mutex<Session>>) -> Answer {
        let (command, args) = (&request.command, request.args());
        let wanted = self.shared.options.token.as_deref();
        let given = args.text("token");
        if wanted.is_some_and(|wanted| !is_same(given.unwrap_or(""), wanted)) {
            // Who guesses has to be patient.
            self.shared.wait_for_guess();
            self.n_bad_tokens += 1;
            if self.n_bad_tokens >= MAX_BAD_TOKENS {
                self.next = Next::Close;
            }
            let fault = if given.is_some() { "wrong" } else { "missing" };
            return Err(format!(
                "{command}: the token is {fault}; set `token` in the launch configuration to the one that the \
                 program has printed"
            ));
        }
        if !self.shared.take_control(self.id) {
            return Err(format!(
                "{command}: another client debugs this program; disconnect it first"
            ));
        }
        if let Err(why) = start_pump(self, own) {
            self.shared.release_control(self.id, Farewell::Leave);
            return Err(why);
        }
        self.phase = Phase::Attached;
        self.stops_on_entry = args.flag("stopOnEntry");
        self.after.push(event("initialized", Value::Null));
        Ok(Value::Null)
    }

    fn configuration_done(&mut self) -> Answer {
        if self.phase == Phase::Configured {
            return Err("configurationDone: this was already done".to_string());
        }
        self.phase = Phase::Configured;
        self.target().threads().iter().for_each(|thread| self.tell_thread(thread.number));
        self.target().own_breakpoints().iter().for_each(|own| self.tell_breakpoint(own));
        let stops = self.target().stops();
        stops.iter().for_each(|stop| self.tell_stop(stop));
        if stops.is_empty() && self.stops_on_entry {
            self.target().go(Go::Pause).map_err(text)?;
        }
        self.shared.configured(self.id);
        Ok(Value::Null)
    }

    /// Lets the program go on because the client wants it.
    pub(super) fn resume(&mut self, how: Go) -> Result<(), String> {
        let stop = self.target().stopped();
        self.target().go(how).map_err(text)?;
        if let Some(stop) = stop {
            let told = self.threads.entry(stop.thread).or_default();
            told.resumed = true;
            told.left = told.left.max(Some(stop.number));
        }
        self.forget();
        Ok(())
    }

    /// Forgets what was told about a stop.
    pub(super) fn forget(&mut self) {
        self.handles.clear();
        self.focus = 0;
    }

    fn go(&mut self, args: Args, how: Go, body: Value) -> Answer {
        self.stop_in(args)?;
        self.resume(how)?;
        Ok(body)
    }

    /// Steps by lines, or by ops if the client says that it means instructions.
    fn step(&mut self, args: Args, by_line: Go, by_op: Go) -> Answer {
        self.stop_in(args)?;
        let by_instruction = args.text("granularity") == Some("instruction");
        self.resume(if by_instruction { by_op } else { by_line })?;
        self.by_listing = by_instruction;
        Ok(Value::Null)
    }

    /// Out of the layer; for somebody who looks at a trip of a loop, to the next one.
    fn way_out(&self) -> Go {
        let stop = self.target().stopped();
        let kind = stop.and_then(|stop| stop.frames.get(self.focus).map(|frame| frame.kind));
        match kind {
            Some(FrameKind::Iteration | FrameKind::Epoch) => Go::NextIteration,
            _ => Go::OutOfLayer,
        }
    }

    fn restart(&mut self) -> Answer {
        self.resume(Go::Restart)?;
        Ok(Value::Null)
    }

    /// The steps of the loop that it is most likely to be wanted to go to.
    fn goto_targets(&self) -> Answer {
        let stop = self.stop()?;
        let Some((now, of)) = stop.step else {
            return Err("gotoTargets: the program has no loop whose steps are counted".to_string());
        };
        let last = of.map_or(u64::MAX, |of| of.saturating_sub(1));
        let before = [1000, 100, 10, 1].map(|n| now.checked_sub(n));
        let behind = [1, 10, 100, 1000].map(|n| now.checked_add(n));
        let mut steps = vec![0, now];
        steps.extend(before.into_iter().chain(behind).chain([of.and(Some(last))]).flatten());
        steps.sort_unstable();
        steps.dedup();
        steps.retain(|&step| step <= last && step < i32::MAX as u64);
        let line = stop.frames.first().and_then(|frame| frame.place.as_ref());
        let line = line.map_or(0, |place| self.line_out(place.line));
        let target = |step: &u64| {
            let label = match step.cmp(&now) {
                std::cmp::Ordering::Less => format!("back to step {step}"),
                std::cmp::Ordering::Equal => format!("the beginning of step {step}"),
                std::cmp::Ordering::Greater => format!("on to step {step}"),
            };
            json!({"id": step + 1, "label": label, "line": line})
        };
        Ok(json!({"targets": steps.iter().map(target).collect::<Vec<_>>()}))
    }

    fn goto(&mut self, args: Args) -> Answer {
        let id = args.int("targetId").and_then(|id| u64::try_from(id.checked_sub(1)?).ok());
        let step = id.ok_or("goto: `targetId` must be the wanted step plus 1")?;
        self.stop_in(args)?;
        self.resume(Go::ToStep(step))?;
        Ok(Value::Null)
    }

    fn all_threads(&mut self) -> Value {
        let threads = self.target().threads();
        let thread = |one: &ThreadInfo| json!({"id": one.number, "name": one.name});
        json!({"threads": threads.iter().map(thread).collect::<Vec<_>>()})
    }

    /// Writes a recording into a file.
    fn record(&mut self, args: Args) -> Answer {
        let path = args.words("path").ok_or("fluvial/record: the path is missing")?;
        let text_of = self.target().record(std::path::Path::new(path)).map_err(text)?;
        Ok(json!({"text": text_of}))
    }

    fn pause(&mut self, args: Args) -> Answer {
        let thread = args.int("threadId").and_then(|thread| u32::try_from(thread).ok());
        if let Some(thread) = thread {
            self.target().choose(thread);
        }
        self.target().go(Go::Pause).map_err(text)?;
        Ok(Value::Null)
    }

    fn terminate(&mut self) -> Answer {
        self.target().go(Go::Quit).map_err(text)?;
        self.forget();
        self.tell_end(1);
        Ok(Value::Null)
    }

    fn disconnect(&mut self, args: Args) -> Answer {
        self.next = Next::Linger;
        let was_in_control = matches!(self.phase, Phase::Attached | Phase::Configured);
        self.phase = Phase::Over;
        if !was_in_control {
            return Ok(Value::Null);
        }
        self.is_over.store(true, Ordering::Release);
        self.forget();
        if args.flag("terminateDebuggee") {
            // A program that is over cannot be ended, and is.
            let _ = self.target().go(Go::Quit);
        } else if args.flag("suspendDebuggee") {
            self.farewell = Farewell::Leave;
            let _ = self.target().go(Go::Pause);
        }
        self.shared.release_control(self.id, self.farewell);
        Ok(Value::Null)
    }

    /// What else there is to know, for clients that know this debugger.
    fn info(&self) -> Value {
        let programs = self.target().programs();
        let programs: Vec<Value> = programs
            .iter()
            .map(|program| json!({"number": program.number, "name": program.name}))
            .collect();
        let step = self.target().stopped().and_then(|stop| stop.step);
        json!({
            "programs": programs,
            "edits": self.target().edits(),
            "step": step.map(|(step, _)| step),
            "steps": step.and_then(|(_, of)| of),
        })
    }
}

/// An error as a text.
pub(super) fn text(error: fluvial_core::Error) -> String {
    error.to_string()
}

fn filter(fault: Fault) -> Value {
    let (label, description) = match fault {
        Fault::Nan => ("NaN", "Stop at the op that makes the first NaN"),
        Fault::NanAnywhere => (
            "NaN anywhere",
            "Stop at any op that makes NaN, whatever becomes of it; runs ops one by one",
        ),
        Fault::Infinity => ("Infinity", "Stop at the op that makes the first infinity"),
        Fault::LossSpike => ("Loss spike", "Stop when the loss is far above what it was"),
        Fault::Error => ("Error", "Stop at an op that refuses its inputs, or fails"),
    };
    json!({
        "filter": fault.name(),
        "label": label,
        "description": description,
        "default": fault.is_default(),
        "supportsCondition": true,
        "conditionDescription": "an expression, such as: step > 100",
    })
}
