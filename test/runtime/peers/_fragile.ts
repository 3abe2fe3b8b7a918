export { partner as default } from './_partner.js'
