import { generateKeyPairSync, sign } from 'node:crypto'

/** A certificate and its key, as PEM. */
export type Certificate = { readonly cert: string; readonly key: string }

const sequence = 0x30
const set = 0x31
const integer = 0x02
const bits = 0x03
const octets = 0x04
const oid = 0x06
const utf8 = 0x0c
const time = 0x18
const explicit = (number: number): number => 0xa0 + number

const ecdsaWithSha256 = tag(sequence, tag(oid, Buffer.from('2a8648ce3d040302', 'hex')))
const commonName = Buffer.from('550403', 'hex')
const alternativeNames = Buffer.from('551d11', 'hex')

/** Signs itself, for `localhost` and 127.0.0.1, from 2020 to 2100. */
export function selfSigned(): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = tag(
    sequence,
    tag(set, tag(sequence, tag(oid, commonName), tag(utf8, Buffer.from('localhost')))),
  )
  const names = tag(sequence, tag(0x82, Buffer.from('localhost')), tag(0x87, Buffer.from([127, 0, 0, 1])))
  const body = tag(
    sequence,
    tag(explicit(0), tag(integer, Buffer.from([2]))),
    tag(integer, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    tag(sequence, tag(time, Buffer.from('20200101000000Z')), tag(time, Buffer.from('21000101000000Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(explicit(3), tag(sequence, tag(sequence, tag(oid, alternativeNames), tag(octets, names)))),
  )
  const signature = tag(bits, Buffer.from([0]), sign('sha256', body, privateKey))
  const der = tag(sequence, body, ecdsaWithSha256, signature).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** One DER element. */
function tag(type: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([type, length]), content])
  return Buffer.concat([Buffer.from([type, 0x82, length >> 8, length & 0xff]), content])
}
