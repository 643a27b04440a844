package main

import "testing"

func TestWitness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, out, want string }{
		{"a test", "--- FAIL: TestA (0.01s)\n    a_test.go:3: wrong\nFAIL\n", "TestA"},
		{"a subtest", "--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/redis (0.01s)\n        --- FAIL: TestA/redis/full (0.00s)\n", "TestA/redis/full"},
		{"the first of two", "--- FAIL: TestA (0.01s)\n--- FAIL: TestB (0.01s)\n    --- FAIL: TestB/redis (0.01s)\n", "TestA"},
		{"the first subtest", "--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/x (0.01s)\n    --- FAIL: TestA/y (0.01s)\n", "TestA/x"},
		{"the clock", "panic: test timed out after 30s\n\trunning tests:\n", "panic: test timed out after 30s"},
		{"nobody", "cannot start\n", "no test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := witness([]byte(c.out)); got != c.want {
				t.Errorf("witness %q, want %q", got, c.want)
			}
		})
	}
}
