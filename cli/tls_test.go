package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	pki := newPKI(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = l.Close()
	s := testserver.Real(t, "--tls-port", port, "--tls-cert-file", pki.path("server.crt"), "--tls-key-file", pki.path("server.key"),
		"--tls-ca-cert-file", pki.path("ca.crt"), "--tls-auth-clients", "yes")
	client := []string{"--tls-cert", pki.path("client.crt"), "--tls-key", pki.path("client.key")}
	queues := func(flags ...string) []string { return append([]string{"queues"}, flags...) }

	e := env{"CYCLONE_REDIS": "rediss://" + addr}
	e.ok(t, queues(append(client, "--tls-ca", pki.path("ca.crt"))...)...)
	e.ok(t, queues(append(client, "--tls-insecure")...)...)
	plain := env{"CYCLONE_REDIS": "redis://" + addr, "CYCLONE_TLS": "1", "CYCLONE_TLS_CA": pki.path("ca.crt"), "CYCLONE_TLS_CERT": pki.path("client.crt"), "CYCLONE_TLS_KEY": pki.path("client.key")}
	plain.ok(t, "queues")
	plain.ok(t, "demo", "--real", "--for", "2s")

	e.fails(t, ExitUnavailable, "--tls-ca", queues(client...)...)
	plain.with("CYCLONE_TLS_SERVER_NAME", "other.example").fails(t, ExitUnavailable, "--tls-server-name", "queues")
	if r := e.run(t, queues("--tls-ca", pki.path("ca.crt"))...); r.code != ExitUnavailable {
		t.Errorf("without a client's certificate: %+v", r)
	}
	env{"CYCLONE_REDIS": "redis://" + s.Addr(), "CYCLONE_TLS": "1"}.fails(t, ExitUnavailable, "leave --tls out", "queues")
	env{}.fails(t, ExitUsage, "no certificate", "queues", "--tls-ca", pki.path("server.key"))
	env{}.fails(t, ExitUsage, "--tls-cert", "queues", "--tls-cert", pki.path("ca.crt"), "--tls-key", pki.path("client.key"))
}

// pki is a directory with a certificate authority, and certificates that it made.
type pki struct{ dir string }

func (p pki) path(name string) string { return filepath.Join(p.dir, name) }

func newPKI(t *testing.T) pki {
	t.Helper()
	p := pki{t.TempDir()}
	authority := certificate("test authority")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	key := p.write(t, "ca", authority, authority, nil)
	server := certificate("test server")
	server.IPAddresses, server.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	p.write(t, "server", server, authority, key)
	user := certificate("test client")
	user.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	p.write(t, "client", user, authority, key)
	return p
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// write makes a certificate, signed by parent's key or else its own.
func (p pki) write(t *testing.T, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	if signer == nil {
		signer = key
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer))
	private := must(x509.MarshalPKCS8PrivateKey(key))
	for file, block := range map[string]*pem.Block{
		name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(p.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}
