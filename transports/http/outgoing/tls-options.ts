import { badOption, orElse, type Read, readFields, readFlag, readText } from '../../base/read-option.js'

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

/** Checked options, as they go to the socket. */
export type TlsSettings = Readonly<Record<string, unknown>>

const fields = ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized']

/** Reads the option `tls` of a client. Throws BAD_OPTION, naming the field; no secret is shown. */
export const readClientTls: Read<TlsSettings> = (value, field) => {
  if (typeof value !== 'object' || value === null) throw badOption(field, 'an object', typeof value)
  const given = readFields(value, field, fields)
  const read = {
    ca: orElse(readPem, undefined)(given.ca, `${field}.ca`),
    cert: orElse(readPem, undefined)(given.cert, `${field}.cert`),
    key: orElse(readPem, undefined)(given.key, `${field}.key`),
    passphrase: orElse(readSecret, undefined)(given.passphrase, `${field}.passphrase`),
    servername: orElse(readText, undefined)(given.servername, `${field}.servername`),
    rejectUnauthorized: orElse(readFlag, true)(given.rejectUnauthorized, `${field}.rejectUnauthorized`),
  }
  return Object.freeze(Object.fromEntries(Object.entries(read).filter(([, one]) => one !== undefined)))
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
