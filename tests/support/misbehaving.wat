;; The ABI of the engine with an `evaluate` that looks at the last byte of its input: `t` traps, `s` spins, `g` grows its
;; memory as far as it may and then traps, anything else is answered with `{}`.
(module
    (memory (export "memory") 2)
    (data (i32.const 16) "0{}07")
    (func (export "tillgate_abi_version") (result i32) (i32.const 1))
    (func (export "tillgate_input") (param i32) (result i32) (i32.const 1024))
    (func (export "tillgate_prepare") (param i32) (result i64) (i64.const 0x1300000002))
    (func (export "tillgate_release") (param i32))
    (func (export "tillgate_tally") (result i32) (i32.const 64))
    (func (export "tillgate_rates") (param i32) (result i64) (i64.const 0x1000000003))
    (func (export "tillgate_findings") (param i32) (result i64) (i64.const 0x1000000003))
    (func (export "tillgate_tests") (param i32) (result i64) (i64.const 0x1000000003))
    (func (export "tillgate_evaluate") (param i32 i32) (result i64)
        (local $last i32)
        (local.set $last (i32.load8_u (i32.add (i32.const 1023) (local.get 1))))
        (if (i32.eq (local.get $last) (i32.const 116)) (then unreachable))
        (if (i32.eq (local.get $last) (i32.const 115)) (then (loop $ever (br $ever))))
        (if (i32.eq (local.get $last) (i32.const 103))
            (then
                (loop $more
                    (br_if $more (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
                unreachable))
        (i64.const 0x1000000003)))
