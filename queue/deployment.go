package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// schemaVersion is the layout of the keys. A client of another one refuses to
// work on them.
const schemaVersion = 1

// ErrMismatch is returned when what is stored under the prefix does not agree with
// the client: another layout of the keys, or another number of partitions than
// its configuration says. Nothing was written, and waiting does not help.
var ErrMismatch = errors.New("queue: the deployment does not agree with the client")

// deployment is what is stored under one prefix, as the client sees it: the keys
// and, per partition, the session lanes and the batch that is forming.
type deployment struct {
	keys  *keyspace
	parts []*partition
}

// partition is the client's side of one partition.
type partition struct {
	client    *Client
	number    int
	keys      *partitionKeys
	wake      string   // prefix of the workers' wake channels
	calls     lanePool // turns and operators' calls
	enqueues  batcher
	builds    runBatcher
	announced announced
}

func (d *deployment) of(id int64) *partition {
	return d.parts[id&int64(len(d.parts)-1)]
}

// join returns the deployment. The first call agrees with what is stored on the
// schema and the number of partitions, which are fixed by whoever comes first.
func (c *Client) join(ctx context.Context) (*deployment, error) {
	if d := c.space.Load(); d != nil {
		return d, nil
	}
	c.joining.Lock()
	defer c.joining.Unlock()
	if d := c.space.Load(); d != nil {
		return d, nil
	}
	if c.closed.Load() {
		return nil, ErrClosed
	}
	partitions, err := c.agree(ctx)
	if err != nil {
		return nil, fmt.Errorf("queue: join the deployment %q: %w", c.cfg.Prefix, err)
	}
	keys, err := newKeyspace(c.cfg.Prefix, partitions)
	if err != nil {
		return nil, err
	}
	d := &deployment{keys: keys, parts: make([]*partition, partitions)}
	for p := range d.parts {
		part := &partition{client: c, number: p, keys: keys.partition(p), wake: keys.wake("")}
		part.calls.part = part
		part.enqueues.init(part)
		part.builds.part = part
		d.parts[p] = part
	}
	c.space.Store(d)
	return d, nil
}

// open is join for a client that may have been closed.
func (c *Client) open(ctx context.Context) (*deployment, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	return c.join(ctx)
}

// agree stores schema and partitions if they are not there and returns the
// number of partitions that is.
func (c *Client) agree(ctx context.Context) (int, error) {
	meta := c.cfg.Prefix + ":meta"
	var stored []any
	err := persist(ctx, connectFor, func() (err error) {
		stored, err = c.rdb.HMGet(ctx, meta, "schema", "partitions").Result()
		if err != nil || stored[0] != nil && stored[1] != nil {
			return err
		}
		pipe := c.rdb.Pipeline()
		pipe.HSetNX(ctx, meta, "schema", schemaVersion)
		pipe.HSetNX(ctx, meta, "partitions", max(c.cfg.Partitions, 1))
		again := pipe.HMGet(ctx, meta, "schema", "partitions")
		_, err = pipe.Exec(ctx)
		stored = again.Val()
		return err
	})
	if err != nil {
		return 0, err
	}
	return c.check(stored)
}

func (c *Client) check(stored []any) (int, error) {
	schema, _ := stored[0].(string)
	if schema != strconv.Itoa(schemaVersion) {
		return 0, fmt.Errorf("%w: it has schema %q and this program knows schema %d: use a version of Cyclone that knows it, or another Prefix", ErrMismatch, schema, schemaVersion)
	}
	text, _ := stored[1].(string)
	partitions, err := strconv.Atoi(text)
	if err != nil || partitions < 1 || partitions > maxPartitions || partitions&(partitions-1) != 0 {
		return 0, fmt.Errorf("%w: its number of partitions %q is not one: restore the field partitions of %s:meta", ErrMismatch, text, c.cfg.Prefix)
	}
	if c.cfg.Partitions != 0 && c.cfg.Partitions != partitions {
		return 0, fmt.Errorf("%w: it has %d partitions and Config.Partitions says %d: set it to %d or 0, or use another Prefix", ErrMismatch, partitions, c.cfg.Partitions, partitions)
	}
	return partitions, nil
}

// channels are where scripts of this partition publish.
func (p *partition) channels() luascripts.Channels {
	return luascripts.Channels{
		Wake: p.wake, Events: p.keys.events(), Cancels: p.keys.cancel(),
	}
}

// node returns a client on which a script and a WAIT about its keys share one
// connection: on Redis Cluster the partition's own primary.
func (p *partition) node(ctx context.Context) (redis.UniversalClient, error) {
	if cluster, ok := p.client.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, p.keys.steps())
	}
	return p.client.rdb, nil
}
