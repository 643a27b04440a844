package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Stored is a step as it stands in Redis, read key by key.
type Stored struct {
	*queue.Envelope
	State cyclone.StepState
	// Due is when a waiting step becomes ready or a lease ends.
	Due time.Time
	// Started is the mark of a lease.
	Started bool
	// Token is that of a lease.
	Token string
	// LostStarted, LostUnstarted and Interruptions are its counters.
	LostStarted, LostUnstarted, Interruptions int
}

// Step returns the step, or nil when nothing is stored of it.
func (l *Lab) Step(id cyclone.RunID) *Stored {
	l.Helper()
	base := l.partition(id)
	for {
		before, _ := l.place(base, id)
		s := l.read(base, id)
		// What is read key by key is of one moment if the step has not moved.
		if after, _ := l.place(base, id); after != before {
			continue
		}
		if s != nil {
			s.State, s.Due, s.Started, s.Token = before.state, before.due, before.started, before.token
		}
		return s
	}
}

// read returns what stands in hashes.
func (l *Lab) read(base string, id cyclone.RunID) *Stored {
	l.Helper()
	body, err := l.Redis.HGet(context.Background(), base+"steps", id.String()).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		l.Fatal(err)
	}
	s := &Stored{Envelope: new(queue.Envelope)}
	if err := s.Decode([]byte(body)); err != nil {
		s.Envelope = nil
	}
	if text, err := l.Redis.HGet(context.Background(), base+"tries", id.String()).Result(); err == nil {
		if _, err := fmt.Sscan(text, &s.LostStarted, &s.LostUnstarted, &s.Interruptions); err != nil {
			l.Errorf("tries of %v: %q", id, text)
		}
	}
	return s
}

// place returns the step's place.
func (l *Lab) place(base string, id cyclone.RunID) (m membership, ok bool) {
	l.Helper()
	for _, m := range l.memberships(base) {
		if m.id == id.String() && !m.dropped {
			return m, true
		}
	}
	return m, false
}

// State returns the step's state, "" when nothing is stored of it.
func (l *Lab) State(id cyclone.RunID) cyclone.StepState {
	l.Helper()
	if s := l.Step(id); s != nil {
		return s.State
	}
	return ""
}

// UntilState waits until the step is in the state.
func (l *Lab) UntilState(id cyclone.RunID, want cyclone.StepState) *Stored {
	l.Helper()
	var s *Stored
	l.Until(fmt.Sprintf("run %v is %s", id, want), func() bool {
		s = l.Step(id)
		return s != nil && s.State == want
	})
	return s
}

// UntilGone waits until nothing is stored of the step.
func (l *Lab) UntilGone(id cyclone.RunID) {
	l.Helper()
	l.Until(fmt.Sprintf("run %v is gone", id), func() bool { return l.Step(id) == nil })
}

// UntilEmpty waits until nothing is left of any step.
func (l *Lab) UntilEmpty() {
	l.Helper()
	l.Until("nothing is left", func() bool { return l.Count() == 0 })
}

// Body returns the step's body as it is stored.
func (l *Lab) Body(id cyclone.RunID) string {
	l.Helper()
	body, err := l.Redis.HGet(context.Background(), l.Key(id, "steps"), id.String()).Result()
	if err != nil {
		l.Fatal(err)
	}
	return body
}

// SetBody replaces the step's body, as no part of Cyclone would.
func (l *Lab) SetBody(id cyclone.RunID, body string) {
	l.Helper()
	if err := l.Redis.HSet(context.Background(), l.Key(id, "steps"), id.String(), body).Err(); err != nil {
		l.Fatal(err)
	}
}

// Leased returns the members of all lease sets, ghosts included.
func (l *Lab) Leased() []string {
	l.Helper()
	var members []string
	for _, key := range l.Keys() {
		if !strings.HasPrefix(l.name(key), "leased:") {
			continue
		}
		for _, z := range l.zset(key) {
			if !padding(z.Member) {
				members = append(members, z.Member.(string))
			}
		}
	}
	return members
}

// Count returns how many steps are stored.
func (l *Lab) Count() int {
	l.Helper()
	n := 0
	for _, base := range l.partitions() {
		n += int(l.Redis.HLen(context.Background(), base+"steps").Val())
	}
	return n
}

// partitions returns what the keys of each partition begin with.
func (l *Lab) partitions() []string {
	n, err := l.Redis.HGet(context.Background(), l.Prefix+":meta", "partitions").Int()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		l.Fatal(err)
	}
	bases := make([]string, n)
	for p := range bases {
		bases[p] = fmt.Sprintf("%s:{%d}:", l.Prefix, p)
	}
	return bases
}

// Key returns the key with the given name in the run's partition.
func (l *Lab) Key(id cyclone.RunID, name string) string { return l.partition(id) + name }

func (l *Lab) partition(id cyclone.RunID) string {
	all := l.partitions()
	if len(all) == 0 {
		return l.Prefix + ":{0}:"
	}
	return all[int64(id)&int64(len(all)-1)]
}

// membership is a step's place in one index.
type membership struct {
	key, id string
	state   cyclone.StepState
	due     time.Time
	started bool
	token   string
	dropped bool // by a ghost
}

// indexes are the names of the keys that hold ids, and the state each means.
var indexes = map[string]cyclone.StepState{
	"ready": cyclone.StepReady, "scheduled": cyclone.StepScheduled, "retrying": cyclone.StepRetrying,
	"snoozed": cyclone.StepSnoozed, "waiting": cyclone.StepWaiting, "leased": cyclone.StepRunning, "completed": cyclone.StepCompleted,
	"discarded": cyclone.StepExhausted, "cancelled": cyclone.StepCancelled,
}

// memberships returns every place of every step of a partition. A ghost's place
// in ready or leased is a dropped one, or means ready.
func (l *Lab) memberships(base string) []membership {
	l.Helper()
	ghosts := l.Redis.HGetAll(context.Background(), base+"ghosts").Val()
	var all []membership
	for _, key := range l.Keys() {
		rest, ok := strings.CutPrefix(key, base)
		name, _, _ := strings.Cut(rest, ":")
		state, known := indexes[name]
		if !ok || !known {
			continue
		}
		var found []membership
		switch state {
		case cyclone.StepReady:
			for _, id := range l.Redis.LRange(context.Background(), key, 0, -1).Val() {
				found = append(found, membership{key: key, id: id, state: state})
			}
		default:
			for _, z := range l.zset(key) {
				if !padding(z.Member) {
					found = append(found, l.member(key, state, z))
				}
			}
		}
		for i := range found {
			m := &found[i]
			if mark := ghosts[m.id]; mark != "" && (m.state == cyclone.StepReady || m.state == cyclone.StepRunning) {
				m.dropped, m.state = strings.HasPrefix(mark, "x"), cyclone.StepReady
			}
		}
		all = append(all, found...)
	}
	return all
}

func (l *Lab) member(key string, state cyclone.StepState, z redis.Z) membership {
	score := int64(z.Score)
	m := membership{key: key, id: z.Member.(string), state: state}
	switch state {
	case cyclone.StepRunning:
		m.id, m.token, _ = strings.Cut(m.id, ":")
		m.due, m.started = time.UnixMilli(score/16), score%2 == 1
	case cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled:
		m.due = time.UnixMilli(score)
	default:
		m.due = time.UnixMilli(score / 16)
	}
	run, node, many := strings.Cut(m.id, ".")
	if _, err := strconv.ParseInt(run, 10, 64); err != nil || many && !isIndex(node) {
		l.Errorf("%s holds %q", key, z.Member)
	}
	return m
}
