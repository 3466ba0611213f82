//! The program: its start and its end, its commands, its files, and the page's settings.

mod cli;
mod doctor;
mod escaping;
mod files;
mod first_start;
mod listen;
mod managed_by;
mod operations;
mod page;
mod process;
mod stopping;
mod tail;
mod unfinished;
