package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/beanstalkd/go-beanstalk"

	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/proc"
)

type beanstalkdServer struct {
	*process
	address, version string
	options          Options
}

// Beanstalkd starts beanstalkd from PATH. It has no command that removes everything,
// so Clear starts it anew.
func Beanstalkd(ctx context.Context, o Options) (Server, error) {
	s := &beanstalkdServer{options: o}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *beanstalkdServer) start(ctx context.Context) error {
	port, err := redisserver.FreePort()
	if err != nil {
		return err
	}
	s.address = "127.0.0.1:" + strconv.Itoa(port)
	data, err := folder()
	if err != nil {
		return err
	}
	args := []string{"-l", "127.0.0.1", "-p", strconv.Itoa(port), "-z", strconv.Itoa(maxJobBytes)}
	if s.options.Persist {
		args = append(args, "-b", data, "-f", "1000")
	}
	if s.process, err = launch(exec.Command("beanstalkd", args...), data); err != nil {
		return discard(data, err)
	}
	err = s.await(ctx, func(context.Context) error {
		c, err := beanstalk.Dial("tcp", s.address)
		if err != nil {
			return err
		}
		defer c.Close()
		stats, err := c.Stats()
		s.version = "beanstalkd " + strings.Trim(stats["version"], `"`)
		return err
	})
	if err != nil {
		err = errors.Join(err, s.Stop())
	}
	return err
}

// maxJobBytes is above the largest payload of any case.
const maxJobBytes = 1 << 20

func (s *beanstalkdServer) Address() string { return s.address }

func (s *beanstalkdServer) Version() string { return s.version }

func (s *beanstalkdServer) Clear(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.start(ctx)
}

// Memory is the resident memory of the process: it tells of no other.
func (s *beanstalkdServer) Memory(context.Context) (float64, error) { return proc.Resident(s.PID()) }

func (s *beanstalkdServer) Commands(context.Context) (int, error) {
	return 0, ErrUnknown
}

func (s *beanstalkdServer) Stop() error { return s.end(os.Interrupt) }
