// The parts of bits-ui that the window uses, without all others.
export { DropdownMenu } from "../../node_modules/bits-ui/dist/bits/dropdown-menu/index.js";
export { Dialog } from "../../node_modules/bits-ui/dist/bits/dialog/index.js";
