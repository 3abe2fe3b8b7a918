import { commands, meanings } from './commands.js'

/** The help of the program. */
export function overview(): string {
  const rows = Object.values(commands).map(({ usage, summary }) => row(usage, summary))
  return `caduceus: clients and servers of the Model Context Protocol

${rows.join('\n')}

A target is a URL, the name of a server in the file of a host (mcp.json, .mcp.json, Claude Desktop, VS Code,
Cursor, Windsurf, Gemini), or is left out before -- command arguments:

  caduceus call echo message=hi -- node server.js

caduceus help <command> lists its options.
Exit codes: 0 done, 1 failed, 2 wrong use, 3 not reachable, 4 login needed, 130 interrupted,
129 terminal closed, 143 terminated, 141 output not read`
}

/** The help of one command. */
export function helpOf(word: string): string {
  const {
    usage,
    summary,
    options,
    meanings: own,
  } = commands[word] ?? { usage: word, summary: '', options: {} }
  const rows = Object.keys(options).map((name) => row(`--${name}`, own?.[name] ?? meanings[name] ?? ''))
  return [`caduceus ${usage}`, `  ${summary}`, '', ...rows].join('\n')
}

function row(left: string, right: string): string {
  return left.length > 26 ? `  ${left}\n${' '.repeat(30)}${right}` : `  ${left.padEnd(28)}${right}`
}
