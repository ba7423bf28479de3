(module
  (func $gcd (export "gcd") (param i32 i32) (result i32)
    (loop $again (result i32)
      (if (result i32) (i32.eqz (local.get 1))
        (then (local.get 0))
        (else
          (local.get 1)
          (i32.rem_u (local.get 0) (local.get 1))
          (local.set 1)
          (local.set 0)
          (br $again))))))
