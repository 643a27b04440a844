package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// NATSVariable, in the environment of this program, makes it a NATS server: its
// value is the port, a blank and the folder.
const NATSVariable = "CYCLONE_PEERS_NATS"

// NATSStream is the stream that clients keep their jobs in.
const NATSStream = "jobs"

// RunNATS runs the server until in ends.
func RunNATS(value string, in io.Reader) error {
	port, folder, ok := strings.Cut(value, " ")
	if !ok {
		return fmt.Errorf("%s must be a port and a folder: %q", NATSVariable, value)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: number, JetStream: true, StoreDir: folder, NoSigs: true, NoLog: true,
		SyncInterval: time.Second, MaxPending: 256 << 20,
	})
	if err != nil {
		return err
	}
	s.Start()
	_, err = io.Copy(io.Discard, bufio.NewReader(in))
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

type natsServer struct {
	*process
	address, version string
	connection       *nats.Conn
	streams          jetstream.JetStream
	in               io.Closer
}

// NATS starts this program as a NATS server with JetStream. Clients keep the stream
// in memory, or, with Persist, in files that are synced every second.
func NATS(ctx context.Context, _ Options) (Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := redisserver.FreePort()
	if err != nil {
		return nil, err
	}
	data, err := folder()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", NATSVariable, port, data))
	s := &natsServer{address: "nats://127.0.0.1:" + strconv.Itoa(port)}
	if s.in, err = command.StdinPipe(); err != nil {
		return nil, discard(data, err)
	}
	if s.process, err = launch(command, data); err != nil {
		return nil, discard(data, err)
	}
	err = s.await(ctx, func(context.Context) error {
		s.connection, err = nats.Connect(s.address)
		return err
	})
	if err == nil {
		s.version = "NATS " + s.connection.ConnectedServerVersion()
		s.streams, err = jetstream.New(s.connection)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *natsServer) Address() string { return s.address }

func (s *natsServer) Version() string { return s.version }

func (s *natsServer) Clear(ctx context.Context) error {
	err := s.streams.DeleteStream(ctx, NATSStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	return err
}

// Memory is what the stream says that its messages take.
func (s *natsServer) Memory(ctx context.Context) (float64, error) {
	stream, err := s.streams.Stream(ctx, NATSStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return float64(stream.CachedInfo().State.Bytes), nil
}

func (s *natsServer) Commands(context.Context) (int, error) { return 0, ErrUnknown }

func (s *natsServer) Stop() error {
	if s.connection != nil {
		s.connection.Close()
	}
	_ = s.in.Close() // the order to leave
	select {
	case <-s.ended:
	case <-time.After(stopWait):
	}
	return s.end(os.Kill)
}
