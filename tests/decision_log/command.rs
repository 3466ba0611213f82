//! `tillgate decisions`: what it finds in the files of a record, and how it prints that.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::host::Program;
use crate::support::wait::output;

/// The record of a host: two tenants, a gap, and an item that a spreadsheet would run.
fn record() -> (TempDir, [Value; 6]) {
    let line = |at: &str, tenant: &str, item: &str, decision: &str, reason: Value| {
        let mut line = json!({
            "at": at, "tenantId": tenant, "clientId": "c", "itemId": item, "conditionId": "alcohol",
            "etag": "e", "decision": decision, "engine": "m", "correlationId": "1",
        });
        if !reason.is_null() {
            line["reason"] = reason;
        }
        line
    };
    let underage = || json!("age_restriction.underage");
    let lines = [
        line(
            "2026-11-01T10:00:00.000Z",
            "acme",
            "beer",
            "HARD_DENY",
            underage(),
        ),
        line(
            "2026-11-02T10:00:00.000Z",
            "acme",
            "beer",
            "ALLOW",
            Value::Null,
        ),
        line(
            "2026-11-03T10:00:00.000Z",
            "other",
            "beer",
            "HARD_DENY",
            underage(),
        ),
        json!({
            "at": "2026-11-04T10:00:00.000Z", "tenantId": "acme",
            "gap": { "since": "2026-11-04T09:59:00.000Z", "decisions": 12 },
        }),
        line(
            "2026-11-05T10:00:00.000Z",
            "acme",
            "=cmd|' /C calc'!A0",
            "HARD_DENY",
            json!("x.new"),
        ),
        line(
            "2026-11-06T10:00:00.000Z",
            "acme",
            "beer",
            "SOFT_DENY",
            json!("age_restriction.missing_context"),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    let event = |at: &str, event: &str| json!({ "at": at, "event": event, "engine": "m" });
    let old: Vec<Value> = [event("2026-11-01T09:00:00.000Z", "STARTED")]
        .into_iter()
        .chain(lines[..3].iter().cloned())
        .collect();
    write(&folder, "decisions.jsonl.000009", &old);
    let new: Vec<Value> = lines[3..]
        .iter()
        .cloned()
        .chain([event("2026-11-07T09:00:00.000Z", "STOPPED")])
        .collect();
    write(&folder, "decisions.jsonl", &new);
    (folder, lines)
}

fn write(folder: &TempDir, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join(name), text).unwrap();
}

fn find(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Program::command();
    output(command.current_dir(folder).arg("decisions").args(arguments))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What is found, as lines of JSON.
fn found(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["decisions.jsonl", "--format", "json"], arguments].concat();
    let found = find(folder, &arguments);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let lines = text(&found.stdout).lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn each_filter_finds_what_it_says_and_the_gaps_that_may_hide_more() {
    let (folder, [first, sold, other, gap, formula, asked]) = record();
    let all = [&first, &sold, &other, &gap, &formula, &asked].map(Clone::clone);
    for (arguments, expected) in [
        (&[][..], all.to_vec()),
        (
            &["--tenant", "acme"],
            vec![
                first.clone(),
                sold.clone(),
                gap.clone(),
                formula.clone(),
                asked.clone(),
            ],
        ),
        (&["--tenant", "other"], vec![other.clone()]),
        (
            &["--since", "2026-11-05"],
            vec![formula.clone(), asked.clone()],
        ),
        (&["--until", "2026-11-02T10:00:00Z"], vec![first.clone()]),
        // The gap began before that, and ended after it.
        (
            &["--since", "2026-11-03", "--until", "2026-11-04T09:59:30Z"],
            vec![other.clone(), gap.clone()],
        ),
        (
            &["--since", "2026-11-04", "--until", "2026-11-04T09:59:00Z"],
            vec![],
        ),
        (
            &["--since", "2026-11-02", "--until", "2026-11-04"],
            vec![sold.clone(), other.clone()],
        ),
        (
            &["--decision", "ALLOW,SOFT_DENY"],
            vec![sold.clone(), gap.clone(), asked.clone()],
        ),
        (
            &["--item", "beer", "--decision", "HARD_DENY"],
            vec![first.clone(), other.clone(), gap.clone()],
        ),
        (&["--condition", "tobacco"], vec![gap.clone()]),
        (
            &["--project", "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"],
            vec![gap.clone()],
        ),
        (&["--unit", "SE-003"], vec![gap.clone()]),
    ] {
        assert_eq!(found(folder.path(), arguments), expected, "{arguments:?}");
    }
}

#[test]
fn a_register_of_refusals_has_date_item_and_reason() {
    let (folder, _) = record();
    let printed = find(
        folder.path(),
        &["decisions.jsonl", "--tenant", "acme", "--refusals"],
    );
    assert_eq!(
        text(&printed.stdout),
        "date,item,reason,meaning\n\
         2026-11-01T10:00:00.000Z,beer,age_restriction.underage,The customer is too young for this item.\n\
         2026-11-04T10:00:00.000Z,,GAP,12 decisions since 2026-11-04T09:59:00.000Z are missing\n\
         2026-11-05T10:00:00.000Z,'=cmd|' /C calc'!A0,x.new,\n"
    );
    assert_eq!(
        text(&printed.stderr),
        "tillgate: the record lacks 12 decisions\n"
    );
    assert_eq!(printed.status.code(), Some(0));
    let asked = [
        "decisions.jsonl",
        "--refusals",
        "--decision",
        "SOFT_DENY",
        "--since",
        "2026-11-05",
    ];
    let printed = find(folder.path(), &asked);
    assert_eq!(
        text(&printed.stdout),
        "date,item,reason,meaning\n\
         2026-11-06T10:00:00.000Z,beer,age_restriction.missing_context,Ask for the customer's age.\n"
    );
}

#[test]
fn csv_has_a_column_for_each_member_and_no_formula() {
    let (folder, _) = record();
    let formulas = ["=1", "+1", "-1", "@a", "\t=1", "'=1", "＝1", "a,\"b\"\nc"];
    let lines = formulas.map(
        |item| json!({ "at": "2026-11-01T10:00:00.000Z", "itemId": item, "decision": "ALLOW" }),
    );
    write(&folder, "formulas.jsonl", &lines);
    let printed = find(folder.path(), &["formulas.jsonl"]);
    assert_eq!(printed.status.code(), Some(0));
    let mut reader = csv::Reader::from_reader(&*printed.stdout);
    assert_eq!(
        reader
            .headers()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
            .join(","),
        "at,tenantId,clientId,businessUnitId,itemId,conditionId,projectId,etag,decision,reason,restriction,engine,\
         catalog,correlationId,till,epoch,sequence,droppedBefore,received"
    );
    let items: Vec<String> = reader
        .records()
        .map(|row| row.unwrap()[4].to_owned())
        .collect();
    assert_eq!(
        items,
        [
            "'=1",
            "'+1",
            "'-1",
            "'@a",
            "'\t=1",
            "''=1",
            "'＝1",
            "a,\"b\"\nc"
        ]
    );
}

#[test]
fn renamed_files_are_read_first_and_none_is_read_twice() {
    let (folder, lines) = record();
    // As a shell lists them.
    let named = [
        "decisions.jsonl",
        "decisions.jsonl.000009",
        "--format",
        "json",
    ];
    let printed = find(folder.path(), &named);
    let printed: Vec<Value> = text(&printed.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(printed, lines);
    let one = find(
        folder.path(),
        &["decisions.jsonl.000009", "--format", "json"],
    );
    assert_eq!(text(&one.stdout).lines().count(), 3);
}

#[test]
fn what_cannot_be_read_is_said() {
    let (folder, _) = record();
    fs::write(
        folder.path().join("torn.jsonl"),
        "listening on http://127.0.0.1:1\n{\"at\":\"2026\n{}\n",
    )
    .unwrap();
    let torn = find(folder.path(), &["torn.jsonl", "--format", "json"]);
    assert_eq!(torn.status.code(), Some(3));
    assert_eq!(text(&torn.stdout), "");
    assert_eq!(text(&torn.stderr), "tillgate: 2 lines cannot be read\n");
    fs::write(folder.path().join("record.gz"), b"\x1f\x8b\x08\0packed").unwrap();
    fs::write(folder.path().join("new.jsonl"), "").unwrap();
    let strange = find(folder.path(), &["record.gz", "new.jsonl"]);
    assert_eq!(strange.status.code(), Some(3));
    assert!(
        text(&strange.stderr).ends_with("record.gz has no line of a record: is it compressed?\n"),
        "{}",
        text(&strange.stderr)
    );
    let missing = find(folder.path(), &["nowhere.jsonl"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(text(&missing.stdout), "");
    let told = text(&missing.stderr);
    assert!(
        told.ends_with("nowhere.jsonl cannot be read: there is no such file\n"),
        "{told}"
    );
    for arguments in [
        &["decisions.jsonl", "--since", "yesterday"][..],
        &["decisions.jsonl", "--decision", "DENY"],
        &["decisions.jsonl", "--refusals", "--format", "json"],
        &[],
    ] {
        assert_eq!(
            find(folder.path(), arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_host_that_has_died_is_told_of() {
    let (folder, _) = record();
    let event = |at: &str, event: &str| json!({ "at": at, "event": event });
    let lines = [
        event("2026-11-01T09:00:00.000Z", "STARTED"),
        event("2026-11-01T10:00:00.000Z", "STARTED"),
        event("2026-11-01T11:00:00.000Z", "STOPPED"),
        event("2026-11-01T12:00:00.000Z", "STARTED"),
    ];
    write(&folder, "died.jsonl", &lines);
    let printed = find(folder.path(), &["died.jsonl"]);
    assert_eq!(
        text(&printed.stderr),
        "tillgate: a host has ended without writing all, before it was started at 2026-11-01T10:00:00.000Z: \
         decisions may be missing\n"
    );
    let register = |arguments: &[&str]| {
        let all = [&["died.jsonl", "--refusals"], arguments].concat();
        text(&find(folder.path(), &all).stdout)
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let gap = "2026-11-01T10:00:00.000Z,,GAP,a host had ended without writing all: decisions may be missing";
    assert_eq!(register(&[]), [gap]);
    let between = ["--tenant", "acme", "--until", "2026-11-01T09:30:00Z"];
    assert_eq!(register(&between), [gap], "it may have died before that");
    assert!(register(&["--since", "2026-11-01T11:00:00Z"]).is_empty());
    assert!(register(&["--until", "2026-11-01T09:00:00Z"]).is_empty());
}

#[test]
fn a_host_that_has_died_before_its_file_was_renamed_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let event = |at: &str, event: &str| json!({ "at": at, "event": event });
    let of_till = json!({
        "at": "9999-01-01T00:00:00.000Z", "tenantId": "acme", "clientId": "c", "itemId": "beer",
        "decision": "ALLOW", "till": "t", "sequence": 1,
    });
    let old = [event("2026-11-01T09:00:00.000Z", "STARTED"), of_till];
    write(&folder, "died.jsonl.1", &old);
    let new = [event("2026-11-01T10:00:00.000Z", "STARTED")];
    write(&folder, "died.jsonl", &new);
    let both = ["died.jsonl", "died.jsonl.1", "--until", "2026-11-02"];
    let printed = find(folder.path(), &[&both[..], &["--refusals"]].concat());
    let told = "date,item,reason,meaning\n2026-11-01T10:00:00.000Z,,GAP,\
                a host had ended without writing all: decisions may be missing\n";
    assert_eq!(text(&printed.stdout), told);
}

#[test]
fn what_a_till_has_dropped_is_printed_whatever_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let of_till = |at: &str, sequence: u64, previous: u64, dropped: u64| {
        let mut line = json!({
            "at": at, "tenantId": "acme", "clientId": "c", "itemId": "beer", "conditionId": "alcohol",
            "decision": "ALLOW", "till": "till-7", "sequence": sequence,
        });
        for (name, number) in [("previous", previous), ("droppedBefore", dropped)] {
            if number > 0 {
                line[name] = json!(number);
            }
        }
        line
    };
    let lines = [
        of_till("2026-11-01T10:00:00.000Z", 1, 0, 0),
        of_till("2026-11-03T10:00:00.000Z", 9, 1, 7),
    ];
    write(&folder, "decisions.jsonl", &lines);
    let register = |arguments: &[&str]| {
        let printed = find(
            folder.path(),
            &[&["decisions.jsonl", "--refusals"], arguments].concat(),
        );
        (
            text(&printed.stdout)
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            text(&printed.stderr).to_owned(),
        )
    };
    let gap = "2026-11-03T10:00:00.000Z,,GAP,7 earlier decisions of till-7 are missing";
    let told = "tillgate: the record lacks 7 decisions\n";
    let lacks = (vec![gap.to_owned()], told.to_owned());
    assert_eq!(register(&[]), lacks);
    assert_eq!(
        register(&["--item", "wine", "--until", "2026-11-02"]),
        lacks
    );
    let none = (vec![], String::new());
    assert_eq!(register(&["--until", "2026-11-01"]), none);
    assert_eq!(register(&["--since", "2026-11-04"]), none);
    assert_eq!(register(&["--tenant", "other"]), none);
    // A line that is printed says it itself.
    assert_eq!(found(folder.path(), &[]), lines);
    let lack = json!({
        "at": "2026-11-03T10:00:00.000Z", "tenantId": "acme", "till": "till-7", "sequence": 9, "droppedBefore": 7,
    });
    let lacks = [lack];
    assert_eq!(found(folder.path(), &["--item", "wine"]), lacks);
    // What is printed is a record again.
    write(&folder, "found.jsonl", &lacks);
    let again = find(folder.path(), &["found.jsonl"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(text(&again.stdout).contains(",GAP,7 earlier decisions of till-7 are missing,"));
}
