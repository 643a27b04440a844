package arrows

import "testing"

// The test that holds the arrows can fail: what it must let pass, and must not.
func TestForbids(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, imported string
		test, ok       bool
	}{
		{"retry", "time", false, true},
		{"retry", module, false, false},
		{"retry", goRedis, false, false},
		{"retry", module, true, true},
		{root, module + "/retry", false, true},
		{root, module + "/queue", false, false},
		{root, goRedis, false, false},
		{"queue", goRedis, false, true},
		{"queue", msgpack, false, true},
		{"queue", miniredis, false, false},
		{"queue", miniredis + "/server", true, true},
		{"queue", module + "/worker", false, false},
		{"queue", urfave, true, false},
		{"worker", module + "/queue", false, true},
		{"worker", module + "/luascripts", false, false},
		{"cli", module + "/internal/embedded", false, true},
		{"cli/demo", module + "/cli", false, true}, // a folder of the same layer
		{"cli/cyclone", module + "/cli", false, true},
		{"cli/cyclone", module + "/queue", false, false},
		{"dashboard", module + "/cli", false, false},
		{"examples/webapp", module + "/worker", false, true},
		{"examples/webapp", module + "/internal/wire", false, false},
		{"internal/faultproxy", goRedis + "x", true, false},
	} {
		if reason := layerOf(c.from).forbids(c.imported, c.test); (reason == "") != c.ok {
			t.Errorf("%s imports %s (test %v): %q", c.from, c.imported, c.test, reason)
		}
	}
	if l := layerOf("internal/unheard"); l != nil {
		t.Errorf("a package that the table does not name is in the layer %s", l.path)
	}
}
