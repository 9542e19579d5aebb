;;; lsp-weft.el --- LSP client for Weft  -*- lexical-binding: t -*-

;;; Commentary:

;; Weft completes code with the context of the whole repository.  It runs
;; beside the language's own server, in files of every type, and its
;; completions are candidates of `completion-at-point'.

;;; Code:

(require 'lsp-mode)

(defgroup lsp-weft nil
  "LSP client for Weft."
  :group 'lsp-mode
  :link '(url-link "https://github.com/weft-lsp/weft"))

(defcustom lsp-weft-server-command '("weft" "serve")
  "The command that starts the server."
  :type '(repeat string)
  :group 'lsp-weft)

(lsp-register-client
 (make-lsp-client
  :new-connection (lsp-stdio-connection (lambda () lsp-weft-server-command))
  :activation-fn (lambda (&rest _) t)
  :add-on? t
  :priority -5
  :server-id 'weft))

(lsp-consistency-check lsp-weft)

(provide 'lsp-weft)
;;; lsp-weft.el ends here
