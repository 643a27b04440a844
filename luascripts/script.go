package luascripts

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1.
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua lib/*.lua
var files embed.FS

const includeMark = "--@include "

// Script is one transition: its name, its source with the shared functions in
// place, and the SHA-1 by which Redis knows it. Immutable.
type Script struct {
	Name   string
	Source string
	SHA    string
}

// registry has every script by its name.
var registry = map[string]*Script{}

func load(name string) *Script {
	s := read(files, name)
	registry[name] = s
	return s
}

func read(from fs.FS, name string) *Script {
	source, err := expand(from, name+".lua")
	if err != nil {
		panic(err) // The files are part of the program: a test loads each one.
	}
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see above
	return &Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// expand returns a file with each `--@include x` line replaced by lib/x.lua.
func expand(from fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(from, file)
	if err != nil {
		return "", fmt.Errorf("luascripts: %w", err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(line, includeMark)
		if !ok {
			b.WriteString(line)
			continue
		}
		part, err := fs.ReadFile(from, path.Join("lib", strings.TrimSpace(name)+".lua"))
		if err != nil {
			return "", fmt.Errorf("luascripts: %s: %w", file, err)
		}
		b.Write(part)
	}
	return b.String(), nil
}

// All returns every script, by name.
func All() []*Script {
	list := make([]*Script, 0, len(registry))
	for _, s := range registry {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Run sends the script by its SHA, and whole when the server does not know it
// (a restart, a failover, SCRIPT FLUSH). It returns the reply's elements.
func (s *Script) Run(ctx context.Context, rdb Doer, keys []string, args []any) ([]any, error) {
	reply, err := rdb.Do(ctx, command("EVALSHA", s.SHA, keys, args)...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = rdb.Do(ctx, command("EVAL", s.Source, keys, args)...).Result()
	}
	return elements(s.Name, reply, err)
}

// Doer sends commands: any client of go-redis does.
type Doer interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// command puts a call together. Keys go by reference, since each that is put into an
// interface as it is costs an allocation; the script as it is, so that hooks and traces
// can tell which one it was.
func command(verb, script string, keys []string, args []any) []any {
	call := append(make([]any, 0, 3+len(keys)+len(args)), verb, script, len(keys))
	for i := range keys {
		call = append(call, &keys[i])
	}
	return append(call, args...)
}

// RunAndWait runs the script and then WAIT on the same connection, since WAIT
// counts what its own connection wrote. It returns the reply's elements and how
// many replicas have confirmed. rdb must be a single node's client.
func (s *Script) RunAndWait(ctx context.Context, rdb redis.UniversalClient, keys []string, args []any, replicas int, timeoutMS int64) ([]any, int, error) {
	reply, acks, err := sendAndWait(ctx, rdb, command("EVALSHA", s.SHA, keys, args), replicas, timeoutMS)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, acks, err = sendAndWait(ctx, rdb, command("EVAL", s.Source, keys, args), replicas, timeoutMS)
	}
	list, err := elements(s.Name, reply, err)
	return list, acks, err
}

func sendAndWait(ctx context.Context, rdb redis.UniversalClient, call []any, replicas int, timeoutMS int64) (any, int, error) {
	pipe := rdb.Pipeline()
	ran := pipe.Do(ctx, call...)
	waited := pipe.Do(ctx, "WAIT", replicas, timeoutMS)
	_, _ = pipe.Exec(ctx) // Each command carries its own error.
	if err := ran.Err(); err != nil {
		return nil, 0, err
	}
	acks, err := waited.Int()
	if err != nil {
		acks = 0 // The script has run; nobody is known to have confirmed.
	}
	return ran.Val(), acks, nil
}

func elements(name string, reply any, err error) ([]any, error) {
	if err != nil {
		return nil, Refusal(err)
	}
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("luascripts: %s: unexpected reply %T", name, reply)
	}
	if _, ok := list[0].(int64); !ok {
		return nil, fmt.Errorf("luascripts: %s: reply without a status", name)
	}
	return list, nil
}
