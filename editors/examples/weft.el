;;; weft.el --- Weft in Emacs, on top of eglot  -*- lexical-binding: t -*-

;; An example to copy from: registers the server with eglot, shows ghost text, and asks questions with streamed answers.
;; eglot implements document synchronization and `completion-at-point'. Binds no keys; see docs/editors.md for examples.
;; Tested with Emacs 28.2 and eglot 1.9.

;;; Code:

(require 'eglot)
(require 'button)

(defvar weft-command '("weft" "serve") "The command of the server.")
(defvar weft-modes '(prog-mode) "The major modes for which eglot starts Weft.")
(defvar weft-idle-seconds 0.15 "Idle time after the last key before a completion is requested.")
(defface weft-ghost '((t :inherit shadow :slant italic)) "Ghost text." :group 'eglot)

(defclass weft-server (eglot-lsp-server) () :documentation "The Weft server in eglot.")

(add-to-list 'eglot-server-programs (cons weft-modes (cons 'weft-server weft-command)))

;;; Ghost text

(defvar-local weft--ghost nil "The overlay that shows a completion; its property `weft-item' is the item.")
(defvar-local weft--timer nil)

;;;###autoload
(define-minor-mode weft-mode
  "Show completions of Weft as ghost text."
  :lighter " Weft" :keymap (make-sparse-keymap)
  (if weft-mode
      (add-hook 'post-command-hook #'weft--after-command nil t)
    (remove-hook 'post-command-hook #'weft--after-command t)
    (weft-dismiss)))

(defun weft-complete (&optional automatic)
  "Request a completion at point; AUTOMATIC if not invoked by the user."
  (interactive)
  (let ((server (eglot-current-server)) (buffer (current-buffer)) (point (point)) (tick (buffer-chars-modified-tick)))
    (unless (or server automatic) (user-error "Weft is not running in this buffer; run M-x eglot"))
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
               (cond ((or (/= point (point)) (/= tick (buffer-chars-modified-tick)))) ; outdated: the text changed
                     ((seq-empty-p items) (unless automatic (message "Weft: no completion here")))
                     (t (weft--show server (elt items 0))))))))
       :error-fn (lambda (err) (unless automatic (message "Weft: %s" (plist-get err :message))))))))

(defun weft-accept ()
  "Accept the ghost text. Return nil when there is none."
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
  "Hide the ghost text. Return nil when there is none."
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
    ;; Hides the replaced text behind point; the cursor stays before the ghost text.
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

(defvar weft--streams (make-hash-table :test #'equal) "Buffers of streaming answers, by progress token.")
(defvar-local weft--conversation "" "The id of the conversation.")
(defvar-local weft--answer-start nil "The start of the streaming answer.")

(defun weft-ask (question)
  "Ask Weft QUESTION about the repository.
The answer streams into a buffer, and its citations follow as buttons."
  (interactive "sAsk Weft: ")
  (let* ((server (or (eglot-current-server) (user-error "Weft is not running in this buffer; run M-x eglot")))
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
     :timeout 600 ; a large model on a small machine is slow
     :success-fn (lambda (answer) (funcall done "\n") (with-current-buffer buffer (weft--cite answer)))
     :error-fn (lambda (err) (funcall done (format "\nWeft: %s\n" (plist-get err :message))))
     :timeout-fn (lambda () (funcall done "\nWeft: no answer within ten minutes\n")))))

(cl-defmethod eglot-handle-notification ((_server weft-server) (_method (eql '$/progress)) &key token value
                                         &allow-other-keys)
  "Append to or restart an answer; eglot handles the progress of indexing."
  (if-let ((buffer (gethash token weft--streams)))
      (with-current-buffer buffer
        (when (plist-get value :restart) (delete-region weft--answer-start (point-max)))
        (weft--append (or (plist-get value :text) "")))
    (cl-call-next-method)))

(defun weft--append (text)
  (save-excursion (goto-char (point-max)) (insert text)))

(defun weft--cite (answer)
  "Insert the citations of ANSWER as buttons."
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
