import { isObject } from '../../protocol/wire/json.js'

/** Fields of a file whose texts are secrets, or may be. */
const guarded: ReadonlySet<string> = new Set(['env', 'headers', 'tokens', 'auth'])
/** Names of what may be a secret; too many rather than too few. */
const secretName = /secret|token|pass|pwd|auth(?!or)|bearer|basic|credential|cookie|key/i
/** Below these names keys are files. */
const tls = 'tls'
/** Says where a secret is, and is none. */
const onlyVariable = /^(?:(?:bearer|basic|token) )?(?:\$\{(?:(?!:-)[^}])+\})+$/i
const mask = '***'

/**
 * A value of a file without what may be a secret: values of variables, headers and tokens, passwords and
 * queries of addresses, options such as `--token`. `path` says where it stands in the file.
 */
export function withoutSecrets(value: unknown, path: readonly string[]): unknown {
  return hidden(value, path, () => mask)
}

/** A text without the secrets of a value, also without the ends of long ones. */
export function withoutSecretsOf(value: unknown, text: string): string {
  const secrets = new Set<string>()
  hidden(value, [], (secret) => {
    secrets.add(secret)
    // as errors show what is long
    if (secret.length > 60) secrets.add(secret.slice(0, 27)).add(secret.slice(-30))
    return mask
  })
  const all = [...secrets]
    .filter((secret) => secret.length > 3)
    .sort((one, other) => other.length - one.length)
  return all.reduce((rest, secret) => rest.replaceAll(secret, mask), text)
}

type Hide = (secret: string) => string

function hidden(value: unknown, path: readonly string[], hide: Hide): unknown {
  if (Array.isArray(value)) return hiddenList(value, path, hide)
  if (isObject(value)) {
    // an input that is asked for as a password
    const { password, default: usual } = value
    const isSecret = password === true && typeof usual === 'string'
    const shown = isSecret ? { ...value, default: hide(usual) } : value
    return Object.fromEntries(
      Object.entries(shown).map(([name, one]) => [name, hidden(one, [...path, name], hide)]),
    )
  }
  if (value === null || typeof value === 'boolean') return value
  const text = String(value)
  const isScope = path.at(-1) === 'scopes'
  const isNamed = secretName.test(path.at(-1) ?? '') && path.at(-2) !== tls && text !== 'oauth'
  const isGuarded = path.slice(0, -1).some((name) => guarded.has(name)) || isNamed
  if (isGuarded && !isScope) return onlyVariable.test(text) ? text : hide(text)
  return typeof value === 'string' ? hiddenAddress(text, hide) : value
}

/** `--token x`, `--token=x`, `TOKEN=x` and `Name: x` are secrets among arguments. */
function hiddenList(values: readonly unknown[], path: readonly string[], hide: Hide): unknown {
  return values.map((one, index) => {
    if (typeof one !== 'string') return hidden(one, path, hide)
    const before = values[index - 1]
    const isValue = typeof before === 'string' && /^--?[\w-]+$/.test(before) && secretName.test(before)
    if (isValue && !onlyVariable.test(one)) return hide(one)
    const [, option = '', given = ''] = /^(--?[\w-]+=|[A-Za-z_]\w*=)(.+)$/s.exec(one) ?? []
    if (secretName.test(option) && !onlyVariable.test(given)) return `${option}${hide(given)}`
    const [, header = '', text = ''] = /^([\w-]+: *)(.+)$/s.exec(one) ?? []
    if (header !== '' && !/^[a-z][\w+.-]*:\/\//i.test(one) && !onlyVariable.test(text))
      return `${header}${hide(text)}`
    return hidden(one, path, hide)
  })
}

function hiddenAddress(text: string, hide: Hide): string {
  if (!/^[a-z][\w+.-]*:\/\//i.test(text)) return text
  const keep = (secret: string): string => (onlyVariable.test(secret) ? secret : hide(secret))
  return text
    .replace(
      /^([^/]*\/\/(?:[^/@:]*:)?)([^/@]*)@/,
      (_, before: string, secret: string) => `${before}${keep(secret)}@`,
    )
    .replace(
      /([?&#](?:[^=&#]*=)?)([^&#]+)/g,
      (_, before: string, secret: string) => `${before}${keep(secret)}`,
    )
}
