package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// Streams are what the program reads and writes, and its environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// LookupEnv finds environment variables, like os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// errInterrupted is the cause of a context that an interrupt ended.
var errInterrupted = errors.New("interrupted")

// Main runs the program on the process's own arguments and streams and returns
// its exit code. The first interrupt ends it softly, the second one at once.
func Main() int {
	redis.SetLogger(silentLogger{}) // errors come back to whoever called
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(errInterrupted)
		<-signals
		if terminal.Is(os.Stdout) {
			fmt.Print(terminal.LeaveScreen)
		}
		os.Exit(ExitInterrupted)
	}()
	return Run(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, LookupEnv: os.LookupEnv}, os.Args[1:]...)
}

// silentLogger keeps go-redis from writing on standard error.
type silentLogger struct{}

func (silentLogger) Printf(context.Context, string, ...any) {}

// Run runs one command line, without the program's name, and returns its exit
// code. Its end is soft when ctx is done. It may be called concurrently.
func Run(ctx context.Context, s Streams, args ...string) int {
	p := newProgram(s)
	err := p.run(ctx, args)
	p.report(err)
	return codeOf(err)
}

// program is one run of the command line.
type program struct {
	Streams
	now func() time.Time
	tty func(stream any) bool // whether a stream is a terminal

	json    bool             // print for programs
	paint   terminal.Painter // on standard output
	painted terminal.Painter // on standard error

	global  *urfave.Context // the program's own flags
	target  string          // the server, for messages
	overTLS bool
	secrets []string // what no message may contain
	cleanup []func() error
}

func newProgram(s Streams) *program { return &program{Streams: s, now: time.Now, tty: terminal.Is} }

// run returns the error that decides about the exit code, explained.
func (p *program) run(ctx context.Context, args []string) (err error) {
	app := p.app()
	p.look(app, args)
	if words, ok := completing(args); ok {
		return p.complete(ctx, app, words)
	}
	a, err := arrange(app, asFlag(args))
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range p.cleanup {
			if e := f(); err == nil && e != nil {
				err = p.explain(ctx, e)
			}
		}
	}()
	err = app.RunContext(ctx, a.line(app.Name))
	return p.explain(ctx, err)
}

// asFlag reads `help steps list` as `steps list --help`.
func asFlag(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(append([]string{}, args[1:]...), "--help")
}

// look decides how to print, before anything can go wrong: an error of the
// command line is printed so as well.
func (p *program) look(app *urfave.App, args []string) {
	own := false // behind it --json is the command's own, its input
	for _, arg := range args {
		if (arg == "--json" || arg == "-json") && !own {
			p.json = true
		}
		if c := app.Command(arg); c != nil {
			_, own = findFlag(c.Flags, "json")
			break
		}
	}
	if !own {
		p.json = p.json || slices.Contains(args, "--json") || slices.Contains(args, "-json")
	}
	p.setColour("auto")
}

// setColour turns colours on or off: auto, always or never.
func (p *program) setColour(when string) {
	_, no := p.env("NO_COLOR")
	dumb, _ := p.env("TERM")
	auto := !no && dumb != "dumb"
	p.paint.On = when == "always" || when == "auto" && auto && p.tty(p.Out)
	p.painted.On = when == "always" || when == "auto" && auto && p.tty(p.Err)
}

// env returns a variable that is set and not empty.
func (p *program) env(name string) (string, bool) {
	if p.LookupEnv == nil {
		return "", false
	}
	v, ok := p.LookupEnv(name)
	return v, ok && v != ""
}
