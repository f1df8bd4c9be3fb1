# Write the time and a disk's reads and sectors read so far, again and again,
# until killed: sample.pl DEVICE INTERVAL_MS
use strict;
use warnings;
use Time::HiRes qw(time sleep);

my ($device, $interval) = @ARGV;

$| = 1;
while (1)
{
	open my $fh, '<', '/proc/diskstats' or die "could not read /proc/diskstats: $!";
	for (<$fh>)
	{
		my @f = split;
		printf "%.3f %d %d\n", time, $f[3], $f[5] if $f[2] eq $device;
	}
	close $fh;
	sleep $interval / 1000;
}
