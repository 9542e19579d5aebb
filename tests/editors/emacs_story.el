;;; emacs_story.el --- What a person does in Emacs set up as docs/editors.md says  -*- lexical-binding: t -*-

;; Run by test_emacs.py in a folder of its own. Prints a JSON object a line, which the test looks at.

;;; Code:

(require 'json)
(setq weft-command (split-string (getenv "WEFT_COMMAND") "\n"))
(load (getenv "WEFT_INIT") nil t)
(setq eglot-sync-connect 30 eglot-autoshutdown nil)

(defun tell (name value)
  (princ (concat "\n" (json-encode (list (cons name value))) "\n")))

(defun wait-for (look)
  "What LOOK finds, as soon as it finds something."
  (let ((end (+ (float-time) 30)) found)
    (while (not (setq found (funcall look)))
      (when (> (float-time) end) (error "Waited too long for %S" look))
      (accept-process-output nil 0.05))
    found))

(defun ghost () (and weft--ghost (substring-no-properties (overlay-get weft--ghost 'before-string))))

(find-file "new.py")
(tell 'without (condition-case problem (weft-ask "anything?") (user-error (cadr problem))))
(apply #'eglot (eglot--guess-contact))
(defvar server (eglot-current-server))
(wait-for (lambda () (equal "ready" (plist-get (jsonrpc-request server :weft/status nil) :state))))

(search-forward "= pri")
(completion-at-point)
(tell 'list (buffer-string))
(completion-in-region-mode -1) ; as after the next command of a person; it has Tab until then
(search-backward "ce_of")
(delete-region (point) (line-end-position))

(switch-to-buffer (current-buffer))
(execute-kbd-macro "c")
(timer-event-handler weft--timer) ; idle timers do not run without a keyboard
(tell 'ghost (wait-for #'ghost))
(execute-kbd-macro "e")
(tell 'typed (ghost))
(weft-complete)
(wait-for #'ghost)
(call-interactively (key-binding (kbd "TAB"))) ; a macro would begin with the hook of the command before it
(tell 'accepted (buffer-string))
(tell 'left (weft-accept))
(save-buffer)

(weft-ask "where is price_of defined?")
(with-current-buffer "*weft*"
  (wait-for (lambda () (next-button (point-min))))
  (tell 'answer (buffer-string))
  (push-button (next-button (point-min))))
(with-current-buffer "price.py"
  (tell 'visited (list (buffer-name (window-buffer)) (line-number-at-pos))))
(tell 'stats (jsonrpc-request server :weft/stats nil))
(eglot-shutdown server)
(tell 'running (eglot-current-server))

;;; emacs_story.el ends here
