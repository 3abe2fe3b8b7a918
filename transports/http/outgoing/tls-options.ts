import { badOption, orElse, type Read, readFlag, readOptions, readText } from '../../base/read-option.js'

/** One PEM text or DER file, or several. */
type Pem = string | Uint8Array | readonly (string | Uint8Array)[]

/** Whom a client trusts, and its own certificate, for https and wss; fields as in `tls.connect` of Node. */
export interface TlsOptions {
  /** Certificates of authorities that are trusted instead of those that come with Node. */
  readonly ca?: Pem
  /** Our own certificate, with its chain. */
  readonly cert?: Pem
  /** The private key of `cert`. */
  readonly key?: Pem
  /** What `key` is encrypted with. */
  readonly passphrase?: string
  /** The name in the certificate of the server. Default: that of the address. */
  readonly servername?: string
  /** False accepts any certificate: others can read and change everything. Default true. */
  readonly rejectUnauthorized?: boolean
}

export type TlsSettings = Readonly<Record<string, unknown>>

/** Reads the option `tls` of a client. Throws BAD_OPTION, naming the field; no secret is shown. */
export const readClientTls: Read<TlsSettings> = (value, field) => {
  if (typeof value !== 'object' || value === null) throw badOption(field, 'an object', typeof value)
  const read = Object.entries(readOptions(value, readers, field))
  return Object.freeze(Object.fromEntries(read.filter(([, one]) => one !== undefined)))
}

const readPem: Read<unknown> = (value, field) => {
  const all = Array.isArray(value) ? value : [value]
  if (
    all.length > 0 &&
    all.every((one) => (typeof one === 'string' && one !== '') || one instanceof Uint8Array)
  )
    return Array.isArray(value) ? Object.freeze([...value]) : value
  throw badOption(field, 'PEM texts or bytes', typeof value)
}

const readSecret: Read<string> = (value, field) => {
  if (typeof value === 'string') return value
  throw badOption(field, 'a string', typeof value)
}

const readers = {
  ca: orElse(readPem, undefined),
  cert: orElse(readPem, undefined),
  key: orElse(readPem, undefined),
  passphrase: orElse(readSecret, undefined),
  servername: orElse(readText, undefined),
  rejectUnauthorized: orElse(readFlag, true),
}
