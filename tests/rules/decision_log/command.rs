//! `tillgate decisions`: what it finds in the files of a log, and how it prints it.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::host::Program;
use crate::support::wait::output;

/// Writes a host's log with two tenants, a gap, and an item that a spreadsheet would take for a formula.
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
            "at": "2026-11-04T10:00:00.000Z", "missing": 12, "since": "2026-11-04T09:59:00.000Z",
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
    write(&folder, "decisions.jsonl.2", &lines[..1]);
    write(&folder, "decisions.jsonl.1", &lines[1..3]);
    write(&folder, "decisions.jsonl", &lines[3..]);
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

/// Returns the lines of JSON that the command finds.
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
        (&["--tenant", "other"], vec![other.clone(), gap.clone()]),
        (
            &["--since", "2026-11-05"],
            vec![formula.clone(), asked.clone()],
        ),
        (&["--until", "2026-11-02T10:00:00Z"], vec![first.clone()]),
        // The gap began before that time and ended after it.
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
         2026-11-04T10:00:00.000Z,,MISSING,12 decisions since 2026-11-04T09:59:00.000Z are missing\n\
         2026-11-05T10:00:00.000Z,'=cmd|' /C calc'!A0,x.new,\n"
    );
    assert_eq!(
        text(&printed.stderr),
        "tillgate: the log lacks 12 decisions\n"
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
         catalog,correlationId,till,sequence,received"
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
    // In the order in which a shell lists them.
    let named = [
        "decisions.jsonl",
        "decisions.jsonl.1",
        "decisions.jsonl.2",
        "--format",
        "json",
    ];
    let printed = find(folder.path(), &named);
    let printed: Vec<Value> = text(&printed.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(printed, lines);
    let one = find(folder.path(), &["decisions.jsonl.1", "--format", "json"]);
    assert_eq!(text(&one.stdout).lines().count(), 2);
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
        text(&strange.stderr)
            .ends_with("record.gz has no line of a decision log: is it compressed?\n"),
        "{}",
        text(&strange.stderr)
    );
    let missing = find(folder.path(), &["nowhere.jsonl"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(text(&missing.stdout), "");
    let told = text(&missing.stderr);
    assert!(
        told.ends_with("nowhere.jsonl cannot be read: No such file or directory (os error 2)\n"),
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
fn gaps_of_a_till_are_printed_and_repeats_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let of_till = |at: &str, sequence: u64, more: Value| {
        let mut line = json!({
            "at": at, "tenantId": "acme", "clientId": "c", "till": "till-7", "sequence": sequence,
        });
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let sold = json!({ "itemId": "beer", "conditionId": "alcohol", "decision": "ALLOW" });
    let first = of_till("2026-11-01T10:00:00.000Z", 1, sold.clone());
    let lack = of_till("2026-11-03T10:00:00.000Z", 9, json!({ "missing": 7 }));
    let next = of_till("2026-11-03T10:00:00.000Z", 9, sold.clone());
    // Its numbers start from the beginning again.
    let anew = of_till("2026-11-04T10:00:00.000Z", 1, sold);
    let lines = [&first, &lack, &next, &lack, &next, &anew].map(Clone::clone);
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
    let missing = "2026-11-03T10:00:00.000Z,,MISSING,7 earlier decisions of till-7 are missing";
    let told = "tillgate: the log lacks 7 decisions\n";
    let lacks = (vec![missing.to_owned()], told.to_owned());
    assert_eq!(register(&[]), lacks);
    assert_eq!(register(&["--item", "wine"]), lacks);
    let none = (vec![], String::new());
    assert_eq!(register(&["--until", "2026-11-01"]), none);
    assert_eq!(register(&["--since", "2026-11-04"]), none);
    assert_eq!(register(&["--tenant", "other"]), none);
    assert_eq!(
        found(folder.path(), &[]),
        [&first, &lack, &next, &anew].map(Clone::clone)
    );
    // The output is a valid log again.
    let lacks = [lack];
    assert_eq!(found(folder.path(), &["--item", "wine"]), lacks);
    write(&folder, "found.jsonl", &lacks);
    let again = find(folder.path(), &["found.jsonl"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(text(&again.stdout).contains(",MISSING,7 earlier decisions of till-7 are missing,"));
}
