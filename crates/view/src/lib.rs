//! A page that shows programs, trainings, memory and time.
//!
//! A [`Site`] is what is looked at: folders with [`events`] of runs, programs, profiles. A [`Server`] shows it to a
//! browser on the same machine; [`export`] writes it as one file. The page itself is built from `web/` by `make web`.
//!
//! - [`events`]: event files, written and read. `runs`, `series`: what they tell, and what a picture needs of it.
//! - `program`, `memory`, `trace`, `source`: programs, plans, profiles and lines as data for the page.
//! - `site`: the questions of the page. `http`, `server`: how they come in, and from whom.

pub mod events;
mod http;
mod memory;
mod page;
mod program;
mod runs;
mod series;
mod server;
mod site;
mod source;
mod tensors;
mod trace;

pub use page::export;
pub use program::{attributes, n_calls};
pub use server::Server;
pub use site::Site;
