package main

import (
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

//go:embed pages
var pages embed.FS

var templates = template.Must(template.ParseFS(pages, "pages/*.html"))

// site has the handlers of the pages.
type site struct{ client *queue.Client }

// maxText bounds what a poster may say, maxBody what a request may bring.
const (
	maxText = 80
	maxBody = 4 << 10
)

func newSite(client *queue.Client) http.Handler {
	s := &site{client}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /posters", s.create)
	mux.HandleFunc("GET /posters/{run}", s.poster)
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, pages, "pages/style.css")
	})
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		protected.ServeHTTP(w, r)
	})
}

// create enqueues and answers at once.
func (s *site) create(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	text := strings.TrimSpace(r.PostFormValue("text"))
	if text == "" || len(text) > maxText {
		http.Error(w, "a poster has 1 to 80 bytes of text", http.StatusBadRequest)
		return
	}
	run, err := cyclone.EnqueueStep(r.Context(), s.client, RenderPoster, Poster{Text: text})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/posters/"+run.ID().String(), http.StatusSeeOther)
}

// poster shows one step, again and again until it has ended.
func (s *site) poster(w http.ResponseWriter, r *http.Request) {
	id, err := cyclone.ParseRunID(r.PathValue("run"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	detail, err := s.client.Step(r.Context(), id, RenderPoster.Name())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := struct {
		Step   queue.StepDetail
		Output string
	}{Step: detail}
	if detail.State == cyclone.StepCompleted {
		if page.Output, err = cyclone.AttachOf[string](s.client, id).Wait(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.show(w, r, "poster.html", page)
}

// home shows the form and the latest posters.
func (s *site) home(w http.ResponseWriter, r *http.Request) {
	page, err := s.client.List(r.Context(), queue.ListQuery{Queue: posters, Limit: 20})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.show(w, r, "home.html", page)
}

func (s *site) show(w http.ResponseWriter, r *http.Request, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := templates.ExecuteTemplate(w, name, data); err != nil {
		slog.ErrorContext(r.Context(), "show page", "page", name, "error", err)
	}
}

// fail answers without telling a stranger what went wrong.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, cyclone.ErrNotFound) {
		http.NotFound(w, r)
		return
	}
	slog.ErrorContext(r.Context(), "request", "path", r.URL.Path, "error", err)
	http.Error(w, "try again later", http.StatusServiceUnavailable)
}
