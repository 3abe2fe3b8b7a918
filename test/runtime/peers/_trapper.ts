export { trapper as default } from './_partner.js'
