import { extname } from 'node:path'

const types: Readonly<Record<string, string>> = Object.freeze({
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/x-python',
  '.sh': 'application/x-sh',
  '.svg': 'image/svg+xml',
  '.ts': 'text/x-typescript',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
})

/** The media type of a file by its name, or else by whether it is a text. */
export function mimeTypeOf(name: string, isText: boolean): string {
  return types[extname(name).toLowerCase()] ?? (isText ? 'text/plain' : 'application/octet-stream')
}
