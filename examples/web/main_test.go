package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cyclone-queue/cyclone/cyclonetest"
)

// request sends one request to the site and returns the answer.
func request(site http.Handler, method, path, form string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

func TestPosterFromRequestToPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		site := newSite(client)

		created := request(site, "POST", "/posters", url.Values{"text": {"Who? <b>"}}.Encode())
		page := created.Header().Get("Location")
		if created.Code != http.StatusSeeOther || page != "/posters/1" {
			t.Fatalf("answered %d, to %q", created.Code, page)
		}
		if body := request(site, "GET", page, "").Body.String(); !strings.Contains(body, "ready") || !strings.Contains(body, `http-equiv="refresh"`) {
			t.Errorf("the page before the work:\n%s", body)
		}

		cyclonetest.Drain(t, client, RenderPoster)
		body := request(site, "GET", page, "").Body.String()
		for _, want := range []string{"completed", "★ WHO? &lt;B&gt; ★", "failed: paper jam"} {
			if !strings.Contains(body, want) {
				t.Errorf("the page after the work has no %q:\n%s", want, body)
			}
		}
		if strings.Contains(body, "refresh") {
			t.Error("the page of a finished poster goes on asking")
		}
		if body := request(site, "GET", "/", "").Body.String(); !strings.Contains(body, `<a href="/posters/1">1</a>`) {
			t.Errorf("the list:\n%s", body)
		}
	})
}

func TestPosterThatCannotBePrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		site := newSite(client)
		page := request(site, "POST", "/posters", "text=123").Header().Get("Location")
		cyclonetest.Drain(t, client, RenderPoster)
		if body := request(site, "GET", page, "").Body.String(); !strings.Contains(body, "discarded") || !strings.Contains(body, "nothing to print") {
			t.Errorf("the page:\n%s", body)
		}
	})
}

func TestRefusals(t *testing.T) {
	site := newSite(cyclonetest.NewClient(t))
	for _, c := range []struct {
		name, method, path, form string
		header                   []string
		want                     int
	}{
		{"no text", "POST", "/posters", "", nil, http.StatusBadRequest},
		{"long text", "POST", "/posters", "text=" + strings.Repeat("x", 81), nil, http.StatusBadRequest},
		{"huge body", "POST", "/posters", "text=" + strings.Repeat("x", 1<<20), nil, http.StatusBadRequest},
		{"another site", "POST", "/posters", "text=x", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"not an id", "GET", "/posters/x", "", nil, http.StatusNotFound},
		{"no such run", "GET", "/posters/4711", "", nil, http.StatusNotFound},
		{"method", "DELETE", "/posters/1", "", nil, http.StatusMethodNotAllowed},
		{"path", "GET", "/posters/", "", nil, http.StatusNotFound},
	} {
		if got := request(site, c.method, c.path, c.form, c.header...).Code; got != c.want {
			t.Errorf("%s: answered %d, want %d", c.name, got, c.want)
		}
	}
	if got := request(site, "GET", "/", ""); !strings.Contains(got.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("a page without a content security policy")
	}
}

// The program as a whole: it serves until it is told to stop, then ends in order.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	client := cyclonetest.NewClient(t)
	go func() { ended <- run(ctx, client, listener) }()
	resp, err := http.Get("http://" + listener.Addr().String() + "/style.css")
	if err != nil {
		t.Fatal(err)
	}
	css, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || len(css) == 0 {
		t.Errorf("style sheet: status %d, %d bytes, error %v", resp.StatusCode, len(css), err)
	}
	_ = resp.Body.Close()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}
