;;; weft.el --- Weft in Emacs, on top of eglot  -*- lexical-binding: t -*-

;; An example to copy from: it registers the server with eglot, shows ghost text while you type, and asks questions.
;; Owns the ghost text, the answer buffer and what is told about a completion. Documents, positions and the list of
;; `completion-at-point' are eglot's. Takes no key: see docs/editors.md for some.
;; Tried with Emacs 28.2 and eglot 1.9.

;;; Code:

(require 'eglot)
(require 'button)

(defvar weft-command '("weft" "serve") "How the server is started.")
(defvar weft-modes '(prog-mode) "The major modes that Weft serves.")
(defvar weft-idle-seconds 0.15 "How long typing pauses before ghost text is asked for.")
(defface weft-ghost '((t :inherit shadow :slant italic)) "Ghost text." :group 'eglot)

(defclass weft-server (eglot-lsp-server) () :documentation "Weft, as a server of eglot's.")

(add-to-list 'eglot-server-programs (cons weft-modes (cons 'weft-server weft-command)))

;;; Ghost text

(defvar-local weft--ghost nil "The overlay that shows a completion; its property `weft-item' is the item.")
(defvar-local weft--timer nil)

;;;###autoload
(define-minor-mode weft-mode
  "Ghost text by Weft while you type."
  :lighter " Weft" :keymap (make-sparse-keymap)
  (if weft-mode
      (add-hook 'post-command-hook #'weft--after-command nil t)
    (remove-hook 'post-command-hook #'weft--after-command t)
    (weft-dismiss)))

(defun weft-complete (&optional automatic)
  "Ask for ghost text at point; AUTOMATIC when nobody asked by hand."
  (interactive)
  (let ((server (eglot-current-server)) (buffer (current-buffer)) (point (point)) (tick (buffer-chars-modified-tick)))
    (unless (or server automatic) (user-error "Weft does not run here: M-x eglot"))
    (when server
      (eglot--signal-textDocument/didChange)
      (jsonrpc-async-request
       server :textDocument/inlineCompletion
       (append (eglot--TextDocumentPositionParams) `(:context (:triggerKind ,(if automatic 2 1))))
       :success-fn
       (lambda (answer)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (let ((items (plist-get answer :items)))
               (cond ((or (/= point (point)) (/= tick (buffer-chars-modified-tick)))) ; too late: more was typed
                     ((seq-empty-p items) (unless automatic (message "Weft has nothing to suggest here")))
                     (t (weft--show server (elt items 0))))))))
       :error-fn (lambda (err) (unless automatic (message "Weft: %s" (plist-get err :message))))))))

(defun weft-accept ()
  "Take the ghost text. Return nil when there is none."
  (interactive)
  (when-let ((item (weft--item)))
    (let ((region (eglot--range-region (plist-get item :range))) (text (plist-get item :insertText)))
      (weft-dismiss)
      (goto-char (car region))
      (delete-region (car region) (cdr region))
      (insert text)
      (weft--tell :weft/didAccept item)
      t)))

(defun weft-dismiss ()
  "Take the ghost text away. Return nil when there is none."
  (interactive)
  (when weft--ghost
    (delete-overlay weft--ghost)
    (setq weft--ghost nil)
    t))

(defun weft--item () (and weft--ghost (overlay-get weft--ghost 'weft-item)))

(defun weft--show (server item)
  (weft-dismiss)
  (let* ((end (cdr (eglot--range-region (plist-get item :range))))
         (typed (buffer-substring-no-properties (car (eglot--range-region (plist-get item :range))) (point)))
         (text (plist-get item :insertText))
         (shown (if (string-prefix-p typed text) (substring text (length typed)) text)))
    (setq weft--ghost (make-overlay (point) end))
    (overlay-put weft--ghost 'weft-item item)
    ;; What the text replaces right of point is hidden; the cursor stays before the ghost.
    (overlay-put weft--ghost 'display (and (< (point) end) ""))
    (overlay-put weft--ghost 'before-string (propertize shown 'face 'weft-ghost 'cursor t))
    (jsonrpc-notify server :weft/didShow (list :id (weft--id item)))))

(defun weft--id (item) (plist-get (elt (plist-get (plist-get item :command) :arguments) 0) :id))

(defun weft--tell (method item)
  (when-let ((server (eglot-current-server)))
    (jsonrpc-notify server method (list :id (weft--id item)))))

(defun weft--after-command ()
  (unless (memq this-command '(weft-complete weft-accept))
    (weft-dismiss))
  (when weft--timer (cancel-timer weft--timer))
  (when (eq this-command 'self-insert-command)
    (let ((buffer (current-buffer)))
      (setq weft--timer (run-with-idle-timer
                         weft-idle-seconds nil
                         (lambda () (when (eq buffer (current-buffer)) (weft-complete t))))))))

;;; Questions

(defvar weft--streams (make-hash-table :test #'equal) "Buffers of the answers that are being written, by token.")
(defvar-local weft--conversation "" "Where the next question goes on.")
(defvar-local weft--answer-start nil "Where the answer begins that is being written.")

(defun weft-ask (question)
  "Ask Weft QUESTION about the repository.
The answer streams into a buffer, and its citations follow as buttons."
  (interactive "sAsk Weft: ")
  (let* ((server (or (eglot-current-server) (user-error "Weft does not run here: M-x eglot")))
         (token (format "weft-%s" (gensym)))
         (buffer (get-buffer-create "*weft*"))
         (done (lambda (text) (remhash token weft--streams) (with-current-buffer buffer (weft--append text)))))
    (with-current-buffer buffer
      (weft--append (format "\n> %s\n\n" question))
      (setq-local weft--answer-start (copy-marker (point-max)))
      (set-window-point (display-buffer buffer) (point-max)))
    (puthash token buffer weft--streams)
    (jsonrpc-async-request
     server :weft/ask
     (list :question question :conversationId (buffer-local-value 'weft--conversation buffer) :partialResultToken token)
     :timeout 600 ; a large model on a small machine takes its time
     :success-fn (lambda (answer) (funcall done "\n") (with-current-buffer buffer (weft--cite answer)))
     :error-fn (lambda (err) (funcall done (format "\nWeft: %s\n" (plist-get err :message))))
     :timeout-fn (lambda () (funcall done "\nWeft: no answer in ten minutes\n")))))

(cl-defmethod eglot-handle-notification ((_server weft-server) (_method (eql '$/progress)) &key token value
                                         &allow-other-keys)
  "More of an answer, or its new beginning; progress of the index is eglot's."
  (if-let ((buffer (gethash token weft--streams)))
      (with-current-buffer buffer
        (when (plist-get value :restart) (delete-region weft--answer-start (point-max)))
        (weft--append (or (plist-get value :text) "")))
    (cl-call-next-method)))

(defun weft--append (text)
  (save-excursion (goto-char (point-max)) (insert text)))

(defun weft--cite (answer)
  "What ANSWER stands on, a button a line."
  (setq weft--conversation (or (plist-get answer :conversationId) ""))
  (save-excursion
    (goto-char (point-max))
    (seq-do (lambda (citation)
              (insert-text-button (plist-get citation :place) 'action (lambda (_) (weft--visit citation)))
              (insert "\n"))
            (plist-get answer :citations))))

(defun weft--visit (citation)
  (find-file-other-window (eglot--uri-to-path (plist-get citation :uri)))
  (goto-char (car (eglot--range-region (plist-get citation :range)))))

(provide 'weft)
;;; weft.el ends here
