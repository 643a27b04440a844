# A client process of Sidekiq: it carries out the commands of internal/wire, one JSON
# object a line.
require "json"
require "set"
require "sidekiq"
require "sidekiq/cli"
require "sidekiq/launcher"

DEFAULT_QUEUE = "default"
ASIDE_QUEUE = "aside"
TIME_DIGITS = 19
NUMBER_START = 20
NUMBER_DIGITS = 10
SMALLEST_PAYLOAD = 31

def now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)

# What the handlers have seen.
class Seen
  attr_reader :handled, :last

  def initialize(order)
    @order = order
    @mutex = Mutex.new
    @reached = ConditionVariable.new
    @handled = 0
    @last = 0
    @late = []
    @failed = Set.new
  end

  def handle(text)
    start = now
    number = text[NUMBER_START, NUMBER_DIGITS].to_i
    sleep(@order["sleep"] / 1e9) if @order["sleep"] > 0
    every = @order["fail_every"]
    @mutex.synchronize do
      raise "this attempt is meant to fail" if every > 0 && number % every == 0 && @failed.add?(number)
      @late << start - text[0, TIME_DIGITS].to_i if @late.size < @order["expect"]
      @handled += 1
      @last = now
      @reached.broadcast if @handled == @target
    end
  end

  def await(order)
    deadline = now + order["limit"] * 1_000_000
    @mutex.synchronize do
      @target = order["jobs"]
      while @handled < @target && (left = deadline - now) > 0
        @reached.wait(@mutex, left / 1e9)
      end
      result = { jobs: @handled, last: @last }
      result[:late] = late if order["late"] && !@late.empty?
      result
    end
  end

  private

  def late
    sorted = @late.sort
    at = ->(q) { sorted[(q * (sorted.size - 1)).floor] / 1e6 }
    { min: at[0], p50: at[0.5], p99: at[0.99], p999: at[0.999], max: at[1] }
  end
end

class NoopJob
  include Sidekiq::Worker
  sidekiq_options retry: 3
  sidekiq_retry_in { 1 } # s; it takes 0 for its own default

  class << self
    attr_accessor :seen
  end

  def perform(text) = self.class.seen.handle(text)
end

def open_server(order)
  settings = order["settings"]
  redis = { url: "redis://#{order["address"]}/0", size: [settings["pool"].to_i, (settings["concurrency"] || 10) + 5].max, pool_timeout: 30 }
  Sidekiq.logger.level = Logger::FATAL
  Sidekiq.configure_server { |config| config.redis = redis }
  Sidekiq.redis = redis
  Sidekiq.options[:concurrency] = settings["concurrency"] || 10
  Sidekiq.options[:poll_interval_average] = settings["poll"] / 1000.0 if settings["poll"]
  {}
end

def queue_name(order, i)
  return ASIDE_QUEUE if order["aside"]
  order["queues"] > 0 ? "q#{i % order["queues"]}" : DEFAULT_QUEUE
end

def produce(order)
  filling = "x" * [0, order["bytes"] - SMALLEST_PAYLOAD].max
  began = now
  deadline = order["limit"] > 0 ? began + order["limit"] * 1_000_000 : nil
  late = -> { deadline && now > deadline }
  due = order["due"] > 0
  moment = ->(i) { order["due"] + i * order["due_every"] }
  text = ->(i, at) { format("%019d %010d %s", due ? moment[i] : at, order["first"] + i, filling) }
  threads = [1, order["goroutines"]].max
  counts = Array.new(threads) do |worker|
    Thread.new do
      done = 0
      one = lambda do |i, at|
        item = { "class" => NoopJob, "queue" => queue_name(order, i), "args" => [text[i, at]] }
        item["at"] = moment[i] / 1e9 if due
        Sidekiq::Client.push(item)
        done += 1
      end
      first = order["jobs"] * worker / threads
      last = order["jobs"] * (worker + 1) / threads
      if order["every"] > 0
        worker.step(order["jobs"] - 1, threads) do |i|
          break if late[]
          at = order["start"] + i * order["every"]
          wait = (at - now) / 1e9
          sleep(wait) if wait > 0
          one[i, at]
        end
      elsif order["batch"] > 0
        (first...last).each_slice(order["batch"]) do |slice|
          break if late[]
          items = { "class" => NoopJob, "queue" => queue_name(order, slice[0]), "args" => slice.map { |i| [text[i, now]] } }
          items["at"] = slice.map { |i| moment[i] / 1e9 } if due
          Sidekiq::Client.push_bulk(items)
          done += slice.size
        end
      else
        (first...last).each { |i| late[] ? break : one[i, now] }
      end
      done
    end
  end.map(&:value)
  { produced: { jobs: counts.sum, began: began, ended: now } }
end

def work(order)
  started = now
  NoopJob.seen = Seen.new(order)
  Sidekiq.options[:queues] = order["queues"] > 0 ? Array.new(order["queues"]) { |i| "q#{i}" } : [DEFAULT_QUEUE]
  $launcher = Sidekiq::Launcher.new(Sidekiq.options)
  $launcher.run
  { started: started }
end

def carry_out(command)
  case command["op"]
  when "open" then open_server(command["open"])
  when "usage" then { usage: { allocations: GC.stat(:total_allocated_objects), version: Sidekiq::VERSION } }
  when "produce" then produce(command["produce"])
  when "work" then work(command["work"])
  when "await" then { handled: NoopJob.seen.await(command["await"]) }
  when "stop"
    $launcher.stop
    {}
  else raise "#{command["op"]} cannot be done"
  end
end

trap("INT", "IGNORE") # the program that started it ends it
$stdout.sync = true
STDIN.each_line do |line|
  reply =
    begin
      carry_out(JSON.parse(line))
    rescue StandardError => e
      { error: "#{e.class}: #{e.message}" }
    end
  puts JSON.generate(reply)
end
exit!(0)
