// SPDX-License-Identifier: MIT

public class AVAudioSession {}
