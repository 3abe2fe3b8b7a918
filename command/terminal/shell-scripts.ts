const bash = `# caduceus completion bash >> ~/.bashrc
_caduceus() {
  local line="\${COMP_LINE:0:COMP_POINT}" word strip
  local -a words
  COMPREPLY=()
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word="\${words[\${#words[@]}-1]}"
  # bash takes = and : for ends of words, unless it was told otherwise
  local ends=
  [[ $COMP_WORDBREAKS == *:* ]] && ends+=:
  [[ $COMP_WORDBREAKS == *=* ]] && ends+='='
  strip=
  [[ -n $ends ]] && strip="\${word%"\${word##*[$ends]}"}"
  while IFS= read -r word; do
    COMPREPLY+=("\${word#"$strip"}")
  done < <(command caduceus completion suggest -- "\${words[@]:1}" 2>/dev/null </dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _caduceus caduceus
`

const zsh = `#compdef caduceus
# caduceus completion zsh > ~/.zfunc/_caduceus, with fpath+=~/.zfunc before compinit
_caduceus() {
  local -a found
  found=("\${(@f)$(command caduceus completion suggest -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  found=(\${found:#})
  if (( \${#found} == 0 )); then
    _files
  elif [[ \${found[1]} == *= ]]; then
    compadd -S '' -- $found
  else
    compadd -- $found
  fi
}
if [[ $funcstack[1] == _caduceus ]]; then _caduceus "$@"; else compdef _caduceus caduceus; fi
`

const fish = `# caduceus completion fish > ~/.config/fish/completions/caduceus.fish
function __caduceus
  set -l words (commandline -opc) (commandline -ct)
  command caduceus completion suggest -- $words[2..] 2>/dev/null </dev/null
end
function __caduceus_file
  set -l words (commandline -opc)
  string match -qr -- '^--(config|file|output|audit|tls-cert|tls-key|engine)$' $words[-1]
  or contains -- "$words[2]" serve dev
end
complete -c caduceus -n 'not __caduceus_file' -f
complete -c caduceus -n __caduceus_file -F
complete -c caduceus -a '(__caduceus)'
`

/** What makes a shell ask for words; each says in its first lines where it belongs. */
export const scripts = Object.freeze({ bash, zsh, fish })
