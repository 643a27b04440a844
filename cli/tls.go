package cli

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/redis/go-redis/v9"
)

// tls fills in the TLS settings, if any.
func (p *program) tls(o *redis.UniversalOptions) error {
	wanted, err := p.on("tls")
	if err != nil {
		return err
	}
	insecure, err := p.on("tls-insecure")
	if err != nil {
		return err
	}
	ca, cert, key, name := p.setting("tls-ca"), p.setting("tls-cert"), p.setting("tls-key"), p.setting("tls-server-name")
	if !wanted && !insecure && ca+cert+key+name == "" {
		return nil
	}
	p.overTLS = true
	cfg := o.TLSConfig
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.MinVersion < tls.VersionTLS12 {
		cfg.MinVersion = tls.VersionTLS12
	}
	if name != "" {
		cfg.ServerName = name
	}
	if insecure {
		cfg.InsecureSkipVerify = true // the flag says so
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return usagef("", "--tls-ca: %v", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return usagef("It must hold certificates in PEM form.", "--tls-ca: no certificate in %s", ca)
		}
	}
	if (cert == "") != (key == "") {
		return usagef("Give both.", "--tls-cert and --tls-key need each other")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return usagef("", "--tls-cert, --tls-key: %v", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	o.TLSConfig = cfg
	return nil
}
