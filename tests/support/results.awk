# What a runner of tests prints: tests in Rust (with --report-time), in Node (TAP), or in a program of our own, which says
# "test NAME ... ok <SECONDS>", "FAILED: NAME" and at its end "N passed, N failed".
#
# Appends to the file `results`, by tabs: counts ("count PASSED FAILED"), each test with its time ("test SECONDS NAME"),
# and the names of those that failed or were skipped. Prints what is left of the log once the tests that passed are out.

function add(kind, rest) { print kind "\t" rest >> results }
function named(name) { return part ": " name }

BEGIN { OFS = "\t" }

# Rust, and programs of our own.
/^test .* \.\.\. (ok|FAILED)( <[0-9.]+s>)?$/ {
    name = $0
    sub(/^test /, "", name)
    sub(/ \.\.\. .*$/, "", name)
    seconds = 0
    if (match($0, /<[0-9.]+s>$/)) seconds = substr($0, RSTART + 1, RLENGTH - 3)
    add("test", seconds "\t" named(name))
    if ($0 ~ / \.\.\. FAILED/) { add("failed", named(name)); print }
    next
}
/^test .* \.\.\. ignored/ {
    name = $0
    sub(/^test /, "", name)
    sub(/ \.\.\. ignored.*$/, "", name)
    add("skipped", named(name) ": it is ignored")
    next
}
/^test result: / { add("count", $4 "\t" $6); if ($6 > 0) print; next }
/^running [0-9]+ tests?$/ { next }
/^FAILED:? / { name = $0; sub(/^FAILED:? /, "", name); add("failed", named(name)) }
/^[0-9]+ passed, [0-9]+ failed$/ { add("count", $1 "\t" $3); next }

# Node. What is said of a test comes after its line, between "---" and "...".
/^ *# Subtest: / || /^TAP version / || /^ *[0-9]+\.\.[0-9]+$/ { next }
/^ *(not )?ok [0-9]+ - / {
    name = $0
    sub(/^ *(not )?ok [0-9]+ - /, "", name)
    failed = $0 ~ /^ *not ok /
    is_suite = seconds = 0
    if (match(name, / # SKIP/)) {
        add("skipped", named(substr(name, 1, RSTART - 1)) ":" substr(name, RSTART + 7))
        name = substr(name, 1, RSTART - 1)
    }
    if (failed) print
    told = 1
    next
}
told && /^ *duration_ms: / { seconds = $2 / 1000 }
told && /^ *type: 'suite'/ { is_suite = 1 }
told && /^ *\.\.\.$/ {
    told = 0
    if (!is_suite) add("test", seconds "\t" named(name))
    if (!is_suite && failed) add("failed", named(name))
    if (failed) print
    next
}
told && !failed { next }
/^# pass / { add("count", $3 "\t0"); next }
/^# (fail|cancelled) / { add("count", "0\t" $3); if ($3 > 0) print; next }
/^# (tests|suites|skipped|todo|duration_ms) / { next }

/^$/ { next }
{ print }
