# fish completion for libretry(1)
# SPDX-License-Identifier: MIT

# The policies of the configuration: that of -c, else the one in use.
function __libretry_policies
	set -l words (commandline -opc)
	set -l file
	for i in (seq (count $words))
		switch $words[$i]
			case -c --config
				set file $words[(math $i + 1)]
			case '--config=*'
				set file (string replace -- --config= '' $words[$i])
		end
	end
	set -l command libretry check --json $file
	if test "$file" = none
		set command env LIBRETRY_CONFIG=none libretry check --json
	end
	$command 2>/dev/null |
		sed -n '/^  "policies"/,/^  \]/s/.*"name": "\([^"\\]*\)".*/\1/p'
end

# The destinations that are known to the user who asks.
function __libretry_destinations
	libretry stats --json 2>/dev/null |
		sed -n 's/.*"destination": "\([^"\\]*\)".*/\1/p'
end

function __libretry_is
	set -l words (commandline -opc)
	test "$words[2]" = $argv[1]
end

# What follows the options of "run": the program, and what was given to it.
function __libretry_program
	set -l words (commandline -opc)[3..-1]
	while set -q words[1]
		switch $words[1]
			case -p -c -l --policy --config --log --inject --library
				set -e words[1]
				set -q words[1]; or break
			case --
				set -e words[1]
				break
			case '-*'
			case '*'
				break
		end
		set -e words[1]
	end
	string escape -- $words
end

function __libretry_in_run
	__libretry_is run; and test -z "$(__libretry_program)"
end

# From the program on it is another command line.
function __libretry_complete_program
	complete --do-complete="$(string join ' ' -- (__libretry_program) (commandline -ct))"
end

complete -c libretry -f
complete -c libretry -n __fish_use_subcommand -a run -d 'Start a program with libretry.so preloaded'
complete -c libretry -n __fish_use_subcommand -a check -d 'Check a configuration file and show what it says'
complete -c libretry -n __fish_use_subcommand -a stats -d 'Show what was counted, and what breakers and budgets say'
complete -c libretry -n __fish_use_subcommand -a hold -d 'Keep programs from trying a destination for a while'
complete -c libretry -n __fish_use_subcommand -a release -d 'End a hold'
complete -c libretry -n __fish_use_subcommand -a explain -d 'Show which rule applies to a destination, and what it does'
complete -c libretry -n __fish_use_subcommand -a simulate -d 'Try policies against outages on a virtual clock'
complete -c libretry -n __fish_use_subcommand -a suggest -d 'Propose a policy from a log of failures'
complete -c libretry -n __fish_use_subcommand -a doctor -d 'Tell whether a program can be covered'
complete -c libretry -n __fish_use_subcommand -a report -d 'Make an HTML page of a log'
complete -c libretry -n __fish_use_subcommand -a help -d 'Print the options'
complete -c libretry -n __fish_use_subcommand -s h -l help -d 'Print the options'
complete -c libretry -n __fish_use_subcommand -s V -l version -d 'Print the version'
complete -c libretry -n '__libretry_is help' -a 'run check stats hold release explain simulate suggest doctor report'

complete -c libretry -n __libretry_in_run -s p -l policy -x -a '(__libretry_policies)' -d 'Use this policy for every destination'
complete -c libretry -n __libretry_in_run -s c -l config -r -F -d 'Use this configuration file'
complete -c libretry -n __libretry_in_run -s l -l log -x -a 'stderr syslog file: unix: fd: none' -d 'Where the log goes'
complete -c libretry -n __libretry_in_run -l inject -x -d 'Make calls fail on purpose'
complete -c libretry -n __libretry_in_run -s v -l verbose -d 'Say what is done, and log everything'
complete -c libretry -n __libretry_in_run -l require -d 'Do not start a program that would not be covered'
complete -c libretry -n __libretry_in_run -l dry-run -d 'Print the command, run nothing'
complete -c libretry -n __libretry_in_run -l library -r -F -d 'The libretry.so to preload'
complete -c libretry -n __libretry_in_run -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is run' -x -a '(__libretry_complete_program)'

complete -c libretry -n '__libretry_is check' -l json -d 'One JSON object instead of text'
complete -c libretry -n '__libretry_is check' -s q -l quiet -d 'Only the faults'
complete -c libretry -n '__libretry_is check' -l strict -d 'Warnings count as errors'
complete -c libretry -n '__libretry_is check' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is check' -F

complete -c libretry -n '__libretry_is stats' -l json -d 'One JSON object instead of tables'
complete -c libretry -n '__libretry_is stats' -s w -l watch -d 'Show it again and again'
complete -c libretry -n '__libretry_is stats' -l prometheus -d 'The text format of Prometheus'
complete -c libretry -n '__libretry_is stats' -s o -l output -r -F -d 'The text of --prometheus into this file'
complete -c libretry -n '__libretry_is stats' -l serve -x -d 'Answer HTTP there'
complete -c libretry -n '__libretry_is stats' -l reset -d 'Forget everything'
complete -c libretry -n '__libretry_is stats' -s u -l user -x -a '(__fish_complete_users)' -d 'Of this user'
complete -c libretry -n '__libretry_is stats' -s g -l group -x -a '(__fish_complete_groups)' -d 'Of this group'
complete -c libretry -n '__libretry_is stats' -s h -l help -d 'Print the options'

complete -c libretry -n '__libretry_is hold' -s p -l policy -x -a '(__libretry_policies)' -d 'Only under this policy'
complete -c libretry -n '__libretry_is hold' -s u -l user -x -a '(__fish_complete_users)' -d 'For the programs of this user'
complete -c libretry -n '__libretry_is hold' -s g -l group -x -a '(__fish_complete_groups)' -d 'For the programs of this group'
complete -c libretry -n '__libretry_is hold' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is hold' -a '(__libretry_destinations)'

complete -c libretry -n '__libretry_is release' -s p -l policy -x -a '(__libretry_policies)' -d 'Only under this policy'
complete -c libretry -n '__libretry_is release' -s u -l user -x -a '(__fish_complete_users)' -d 'For the programs of this user'
complete -c libretry -n '__libretry_is release' -s g -l group -x -a '(__fish_complete_groups)' -d 'For the programs of this group'
complete -c libretry -n '__libretry_is release' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is release' -a '(__libretry_destinations)'

complete -c libretry -n '__libretry_is explain' -l op -x -a 'connect lookup send' -d 'The call'
complete -c libretry -n '__libretry_is explain' -l addr -x -d 'The address that the name has'
complete -c libretry -n '__libretry_is explain' -l proto -x -a 'tcp udp' -d 'The protocol'
complete -c libretry -n '__libretry_is explain' -l exe -x -a '(__fish_complete_command)' -d 'The program that calls'
complete -c libretry -n '__libretry_is explain' -l error -x -a 'ECONNREFUSED ETIMEDOUT EHOSTUNREACH ENETUNREACH ECONNRESET EADDRNOTAVAIL EAGAIN EAI_AGAIN EAI_NONAME' -d 'What the call fails with'
complete -c libretry -n '__libretry_is explain' -l config -r -F -d 'Use this configuration file'
complete -c libretry -n '__libretry_is explain' -l replicas -x -d 'Copies of the program'
complete -c libretry -n '__libretry_is explain' -l outer -x -d 'Calls that each layer above makes'
complete -c libretry -n '__libretry_is explain' -l grace -x -d 'Time for a stop'
complete -c libretry -n '__libretry_is explain' -l json -d 'One JSON object instead of text'
complete -c libretry -n '__libretry_is explain' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is explain' -a 'connect lookup send'

complete -c libretry -n '__libretry_is simulate' -s p -l policy -x -a '(__fish_complete_list , __libretry_policies)' -d 'Policies to compare'
complete -c libretry -n '__libretry_is simulate' -s c -l config -r -F -d 'The configuration with the policies'
complete -c libretry -n '__libretry_is simulate' -l world -x -a 'outage overload contention herd budget' -d 'What is simulated'
complete -c libretry -n '__libretry_is simulate' -l seeds -x -d 'Runs, each with other random numbers'
complete -c libretry -n '__libretry_is simulate' -l seed -x -d 'The first of them'
complete -c libretry -n '__libretry_is simulate' -l json -d 'One JSON array instead of tables'
complete -c libretry -n '__libretry_is simulate' -l svg -r -F -d 'Draw the results'
complete -c libretry -n '__libretry_is simulate' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is simulate' -l dest -x -d 'Of a log, the destination'
complete -c libretry -n '__libretry_is simulate' -l timeline -r -F -d 'When it is down'
complete -c libretry -n '__libretry_is simulate' -l requests -x -d 'Number of requests'
complete -c libretry -n '__libretry_is simulate' -l every -x -d 'From one request to the next'
complete -c libretry -n '__libretry_is simulate' -l latency -x -d 'Of each attempt'
complete -c libretry -n '__libretry_is simulate' -l fail -x -d 'Share of attempts that fail while it is up'
complete -c libretry -n '__libretry_is simulate' -l error -x -a 'ECONNREFUSED ETIMEDOUT EHOSTUNREACH ENETUNREACH ECONNRESET EADDRNOTAVAIL EAGAIN EAI_AGAIN EAI_NONAME' -d 'What they fail with'
complete -c libretry -n '__libretry_is simulate' -l legacy-cursor -d 'The published run and its mistake'
complete -c libretry -n '__libretry_is simulate' -l clients -x -d 'Number of clients'
complete -c libretry -n '__libretry_is simulate' -l hosts -x -d 'Machines that they are spread over'
complete -c libretry -n '__libretry_is simulate' -l shared -d 'One machine for all'
complete -c libretry -n '__libretry_is simulate' -l rate -x -d 'Calls a second'
complete -c libretry -n '__libretry_is simulate' -l capacity -x -d 'Requests a second'
complete -c libretry -n '__libretry_is simulate' -l queue -x -d 'Requests in line'
complete -c libretry -n '__libretry_is simulate' -l timeout -x -d 'Of each attempt'
complete -c libretry -n '__libretry_is simulate' -l duration -x -d 'Of the run'
complete -c libretry -n '__libretry_is simulate' -l down -x -d 'The outage'
complete -c libretry -n '__libretry_is simulate' -l window -x -d 'Of which the most retries are counted'

complete -c libretry -n '__libretry_is suggest' -l dest -x -d 'Only this destination'
complete -c libretry -n '__libretry_is suggest' -l target -x -d 'Of calls so many shall succeed'
complete -c libretry -n '__libretry_is suggest' -l within -x -d 'The longest that a call may take'
complete -c libretry -n '__libretry_is suggest' -l gap -x -d 'After so long another outage begins'
complete -c libretry -n '__libretry_is suggest' -l latency -x -d 'How long a failed attempt takes'
complete -c libretry -n '__libretry_is suggest' -l json -d 'One JSON object instead of text'
complete -c libretry -n '__libretry_is suggest' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is suggest' -F

complete -c libretry -n '__libretry_is doctor' -s c -l config -r -F -d 'Judge by this configuration file'
complete -c libretry -n '__libretry_is doctor' -l grace -x -d 'How long a stop may take'
complete -c libretry -n '__libretry_is doctor' -l library -r -F -d 'The libretry.so to judge by'
complete -c libretry -n '__libretry_is doctor' -l json -d 'One JSON object instead of text'
complete -c libretry -n '__libretry_is doctor' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is doctor' -a '(__fish_complete_command)'

complete -c libretry -n '__libretry_is report' -s o -l output -r -F -d 'Write to this file'
complete -c libretry -n '__libretry_is report' -s t -l title -x -d 'The title of the page'
complete -c libretry -n '__libretry_is report' -l json -d 'The figures as JSON'
complete -c libretry -n '__libretry_is report' -s h -l help -d 'Print the options'
complete -c libretry -n '__libretry_is report' -F
