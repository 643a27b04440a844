package arrows

const module = "github.com/cyclone-queue/cyclone"

// Modules from outside.
const (
	goRedis   = "github.com/redis/go-redis/v9"
	msgpack   = "github.com/vmihailenco/msgpack/v5"
	urfave    = "github.com/urfave/cli/v2"
	terminal  = "golang.org/x/term"
	miniredis = "github.com/alicebob/miniredis/v2"
	goleak    = "go.uber.org/goleak"
	rapid     = "pgregory.net/rapid"
	cmp       = "github.com/google/go-cmp"
	gopherLua = "github.com/yuin/gopher-lua"
	wazero    = "github.com/tetratelabs/wazero"
)

// root is the path of the module's own package in the table.
const root = "."

// public is what a program outside this module can import and is meant to.
var public = []string{root, "retry", "queue", "worker", "workflow", "workflow/step", "dashboard", "cyclonetest"}

// benchParts is what the programs under bench share.
var benchParts = []string{"bench/internal/figures", "bench/internal/floor", "bench/internal/machine", "bench/internal/parallel", "bench/internal/redisserver"}

// layer says what the packages under a path may import besides the standard
// library. The longest path that fits a package is its layer; a package
// without one fails the test, so that a new one gets its place on purpose.
type layer struct {
	path    string
	own     []string // packages of this module
	modules []string
}

var layers = []layer{
	{path: "retry"},
	{path: "internal/wire", own: []string{"retry"}},
	{path: root, own: []string{"retry", "internal/wire"}},
	{path: "internal/pack", own: []string{"internal/wire"}},
	{path: "internal/record", own: []string{"internal/pack"}},
	{path: "internal/dag", own: []string{"retry", "internal/pack", "internal/wire"}},
	{path: "luascripts", modules: []string{goRedis}},
	{
		path:    "queue",
		own:     []string{root, "retry", "luascripts", "internal/wire", "internal/pack", "internal/record", "internal/dag"},
		modules: []string{goRedis, msgpack},
	},
	{path: "worker", own: []string{root, "retry", "queue", "workflow/step", "internal/wire", "internal/record"}},
	{path: "workflow", own: []string{root, "retry", "queue", "internal/wire", "workflow/step"}},
	{path: "workflow/step", own: []string{root, "retry", "internal/wire", "internal/record"}},
	{path: "inbox", own: []string{root}},
	{path: "dashboard", own: public},
	{path: "cyclonetest", own: with(public, "internal/embedded", "internal/wire", "internal/record"), modules: []string{goRedis}},
	{path: "cli", own: with(public, "internal/embedded"), modules: []string{urfave, goRedis, terminal}},
	{path: "cli/cyclone", own: []string{"cli"}},
	{path: "examples", own: with(public, "examples/devredis"), modules: []string{goRedis}},
	{path: "examples/devredis", own: []string{root, "queue", "internal/embedded"}},
	{path: "bench", own: with(public, benchParts...), modules: []string{goRedis}},
	{path: "bench/internal", own: benchParts, modules: []string{goRedis}},

	// Only tests and tools use these.
	{path: "internal/embedded", modules: []string{miniredis, goRedis}},
	{path: "internal/testserver", own: []string{"internal/embedded"}, modules: []string{goRedis, goleak}},
	{path: "internal/faultproxy"},
	{
		path:    "internal/conformance",
		own:     []string{root, "queue", "worker", "luascripts", "workflow", "internal/dag", "internal/embedded", "internal/testserver"},
		modules: []string{goRedis, cmp},
	},
	{path: "internal/faults"},   // only tests
	{path: "internal/topology"}, // only tests
	{path: "internal/arrows"},
	{path: "internal/bounds"}, // only tests
	{path: "internal/model"},
	{path: "internal/mutate", modules: []string{gopherLua}},
	{
		path:    "internal/sim",
		own:     with(public, "internal/embedded", "internal/model", "internal/wire", "internal/record", "internal/dag", "luascripts"),
		modules: []string{goRedis, miniredis},
	},
	{path: "internal/sim/replay", modules: []string{wazero}},
	{path: "docs"},
}

// testModules may be used by every _test.go file, whatever its layer. Tests
// may import any package of this module as well.
var testModules = []string{cmp, goleak, rapid, miniredis, goRedis, msgpack, gopherLua}

// library is what a user's program links. Nothing of unwanted may come with it.
var (
	library  = []string{"retry", root, "luascripts", "queue", "worker", "workflow", "workflow/step", "inbox"}
	unwanted = []string{
		miniredis, urfave, goleak, rapid, cmp, wazero, "testing",
		module + "/cli", module + "/internal/embedded", module + "/internal/testserver", module + "/cyclonetest",
	}
)

// vague names say nothing about a package's duty.
var vague = []string{"util", "utils", "common", "base", "types", "helpers", "misc", "shared"}

func with(list []string, more ...string) []string {
	return append(append([]string{}, list...), more...)
}
