;;; The way of a loop in Emacs with eglot: diagnostic, hover, light bulb, outline, a result as a document, "Offload to GPU" applied
;;; to two files, an orderly end.  Run as
;;;   WARPWRIGHT=program PROJECT=folder emacs --batch -Q -l emacs.el
;;; Waits for conditions, never for a time.  Written for Emacs 28 with eglot 1.9, and later.  -*- lexical-binding: t -*-

(defconst story-patience 60 "Seconds for one condition on a slow, busy machine.")

(defun story-say (text &rest values)
  (princ (concat "emacs: " (apply #'format text values) "\n")))

(defun story-check (holds text &rest values)
  (unless holds (error "%s" (apply #'format text values))))

(defun story-wait (what condition)
  "Wait until CONDITION gives something, and give that."
  (let ((end (+ (float-time) story-patience)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) end) (error "waited in vain for: %s" what))
      (accept-process-output nil 0.02))
    value))

(defun story-line (text)
  "The first line that has TEXT, from 0, and its column."
  (save-excursion
    (goto-char (point-min))
    (story-check (search-forward text nil t) "no line with %s" text)
    (goto-char (match-beginning 0))
    (cons (1- (line-number-at-pos)) (- (point) (line-beginning-position)))))

(defun story-go (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun story-diagnostic (text)
  "What flymake shows on the line with TEXT."
  (let* ((line (1+ (car (story-line text))))
         (here (seq-find (lambda (d) (= line (line-number-at-pos (flymake-diagnostic-beg d))))
                         (flymake-diagnostics))))
    (and here (flymake-diagnostic-text here))))

(defvar story-messages nil "What the server had shown as messages.")

(defun story-request (method params)
  (jsonrpc-request (eglot-current-server) method params :timeout story-patience))

(defun story-place ()
  (eglot--TextDocumentPositionParams))

(defun story-hover ()
  (story-go "for (int i = 0;")
  (let* ((hover (story-request :textDocument/hover (story-place)))
         (words (plist-get (plist-get hover :contents) :value)))
    (story-check (string-match-p "independent\\|GPU" words) "the hover says neither: %s" words)
    (story-check (not (string-match-p "\\\\\\[" words)) "the hover shows a backslash: %s" words)
    (story-say "the hover has %d lines" (length (split-string words "\n")))))

(defun story-actions ()
  "The titles that the light bulb lists on the loop, in order."
  (story-go "for (int i = 0;")
  (let* ((at (plist-get (story-place) :position))
         (actions (story-request :textDocument/codeAction
                                 (list :textDocument (eglot--TextDocumentIdentifier)
                                       :range (list :start at :end at)
                                       :context (list :diagnostics [])))))
    (append actions nil)))

(defun story-outline ()
  (let* ((symbols (append (story-request :textDocument/documentSymbol
                                         (list :textDocument (eglot--TextDocumentIdentifier)))
                          nil))
         (names (mapcar (lambda (s) (plist-get s :name)) symbols))
         (within (append (plist-get (car symbols) :children) nil)))
    (story-check (equal names '("saxpy" "dot" "prefix_sum")) "the outline is %S" names)
    (story-check (equal (plist-get (car within) :detail) "parallel") "the loop is %S" within)
    (story-say "the outline has %d functions; %s is %s" (length names)
               (plist-get (car within) :name) (plist-get (car within) :detail))))

(defun story-result ()
  "A result is a document that cannot be written."
  (story-go "for (int i = 1;")
  (let* ((at (plist-get (story-place) :position))
         (answer (eglot-execute-command (eglot-current-server) 'warpwright.explain
                                        (vector (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri)
                                                      :position at))))
         ;; Emacs 28 reads what came in one piece with an answer only when something else comes.
         (said (story-wait "where the result stands"
                           (lambda ()
                             (story-request :textDocument/hover (story-place))
                             (seq-find (lambda (m) (string-match-p "\\.md" m)) story-messages))))
         (file (and (string-match "\\(/[^ ]*\\.md\\)" said) (match-string 1 said))))
    (ignore answer)
    (story-check (and file (file-readable-p file)) "no file in: %s" said)
    (with-temp-buffer
      (insert-file-contents file)
      (goto-char (point-min))
      (story-check (search-forward "sequential" nil t) "the result does not say why: %s" (buffer-string))
      (story-say "the result has %d lines: %s" (count-lines (point-min) (point-max))
                 (car (split-string (buffer-string) "\n"))))
    (story-check (zerop (logand #o222 (file-modes file))) "the result can be written")))

(defun story ()
  (let* ((program (getenv "WARPWRIGHT"))
         (project (file-name-as-directory (getenv "PROJECT"))))
    (package-initialize)
    (require 'eglot)
    (setq eglot-autoshutdown nil
          eglot-sync-connect story-patience
          eglot-connect-timeout story-patience
          eglot-confirm-server-initiated-edits nil)
    (add-to-list 'eglot-server-programs `((c-mode) . (,program "lsp")))
    (cl-defmethod eglot-handle-notification :before (_server (_method (eql window/showMessage)) &key message &allow-other-keys)
      (push message story-messages))
    (cd project)
    (call-process "git" nil nil nil "init" "-q" project)
    (find-file (concat project "loops.c"))
    (c-mode)
    (call-interactively #'eglot)
    (story-wait "the server is there" #'eglot-current-server)
    (story-wait "a diagnostic on the sequential loop"
                (lambda () (flymake-start) (story-diagnostic "for (int i = 1;")))
    (story-say "the sequential loop: %s" (car (split-string (story-diagnostic "for (int i = 1;") "\n")))
    (story-hover)
    (story-outline)
    (let* ((actions (story-actions))
           (titles (mapcar (lambda (a) (plist-get a :title)) actions))
           (first (car actions)))
      (story-check (string-match-p "^Offload to" (car titles)) "the first of the light bulb: %S" titles)
      (story-check (string-match-p "^Ignore" (car (last titles))) "the last of the light bulb: %S" titles)
      (story-say "the light bulb: %s first, %s last" (car titles) (car (last titles)))
      (story-result)
      (let ((before (buffer-string))
            (command (plist-get first :command)))
        (cond ((stringp command)
               (eglot-execute-command (eglot-current-server) (intern command) (plist-get first :arguments)))
              (command
               (eglot-execute-command (eglot-current-server) (intern (plist-get command :command))
                                      (plist-get command :arguments)))
              (t (eglot--apply-workspace-edit
                  (or (plist-get first :edit)
                      (plist-get (story-request :codeAction/resolve first) :edit)))))
        (story-wait "the change of the C file" (lambda () (not (equal before (buffer-string)))))))
    (save-some-buffers t)
    (let ((kernels (directory-files project t "\\.cu\\'")))
      (story-check (= 1 (length kernels)) "one .cu file was expected: %S" kernels)
      (with-temp-buffer
        (insert-file-contents (car kernels))
        (story-check (search-forward "__global__" nil t) "the .cu file holds no kernel"))
      (story-say "the action changed loops.c and made %s" (file-name-nondirectory (car kernels))))
    (eglot-shutdown (eglot-current-server))
    (story-say "the server ended when it was asked to")))

(condition-case problem
    (story)
  (error
   (princ (format "emacs: FAILED: %s\n" (error-message-string problem)))
   (kill-emacs 1)))
(kill-emacs 0)
