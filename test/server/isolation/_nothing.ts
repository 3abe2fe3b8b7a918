export { nothing as default }

const nothing = 'no function'
